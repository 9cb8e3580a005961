// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	maxFile    = 64 << 10 // bytes of a key file
	maxGuarded = 1 << 20  // bytes of a guarded file
)

// ReadSecretFile reads a file of at most 64 KiB that nobody else may read or
// write. It belongs to this user or to root, and has mode 0600 or 0400, or it
// has mode 0440 and a group of this process. Errors are
// ErrLooseMode, ErrForeignOwner, ErrBadFile, and those of package os.
func ReadSecretFile(path string) ([]byte, error) {
	// Owner and mode are those of the open file, so it can't be swapped in between.
	return readFile(path, maxFile, func(info fs.FileInfo) error {
		return checkSecret(path, info.Mode().Perm(), ownerOf(info))
	})
}

// parsed reads a secret file and parses it. kind says what it is.
func parsed[T any](kind, path string, parse func([]byte) (T, error)) (f T, err error) {
	data, err := ReadSecretFile(path)
	if err != nil {
		return f, fmt.Errorf("%s: %w", kind, err)
	}
	if f, err = parse(data); err != nil {
		return f, fmt.Errorf("%s %s: %w", kind, path, err)
	}
	return f, nil
}

// readFile reads a regular file of at most most bytes that passes the check.
func readFile(path string, most int, check func(fs.FileInfo) error) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%w: %s is a directory: name the file in it", ErrBadFile, path)
	case !info.Mode().IsRegular(): // a pipe may have no writer for ever
		return nil, fmt.Errorf("%w: %s is not a regular file: copy its content to one", ErrBadFile, path)
	}
	if err := check(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("%w: %s is too large, with more than %d bytes: name another file", ErrBadFile, path, most)
	}
	// Editors of Windows begin a file with a byte order mark.
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// checkSecret refuses a file that others can read or change.
func checkSecret(path string, mode fs.FileMode, o owner) error {
	switch {
	case o.foreign:
		return fmt.Errorf("%w, but %s belongs to user %d: copy it, or run `chown %d %s`", ErrForeignOwner, path, o.uid, os.Geteuid(), shellQuote(path))
	case mode&^0o600 == 0, o.group && mode&^0o440 == 0:
		return nil
	}
	return fmt.Errorf("%w, but %s has %04o: run `chmod 600 %s`", ErrLooseMode, path, mode, shellQuote(path))
}

// ReadGuardedFile reads a file of at most 1 MiB that others may read and only this user
// or root may change: it belongs to one of them, and only its owner may write to it.
// Errors are ErrUnguarded, ErrBadFile, and those of package os.
func ReadGuardedFile(path string) ([]byte, error) {
	return readFile(path, maxGuarded, func(info fs.FileInfo) error {
		return checkGuarded(path, info.Mode().Perm(), ownerOf(info))
	})
}

// checkOthers refuses what others can change: with foreign if it belongs to somebody
// else, with loose if somebody else may write to it.
func checkOthers(path string, mode fs.FileMode, o owner, foreign, loose error) error {
	switch {
	case o.foreign:
		return fmt.Errorf("%w, but %s belongs to user %d: name another one, or run `chown %d %s`", foreign, path, o.uid, os.Geteuid(), shellQuote(path))
	case mode&0o022 != 0:
		return fmt.Errorf("%w, but %s has %04o: run `chmod go-w %s`", loose, path, mode, shellQuote(path))
	}
	return nil
}

func checkGuarded(path string, mode fs.FileMode, o owner) error {
	return checkOthers(path, mode, o, ErrUnguarded, ErrUnguarded)
}

// CheckDirectory refuses a directory for secrets that others can change: it
// belongs to this user or to root, and only its owner may write to it. Errors are
// ErrForeignOwner, ErrLooseDirectory, and those of package os.
func CheckDirectory(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return checkDirectory(path, info.Mode().Perm(), ownerOf(info))
}

func checkDirectory(path string, mode fs.FileMode, o owner) error {
	return checkOthers(path, mode, o, ErrForeignOwner, ErrLooseDirectory)
}

// writeSecretFile creates a file of mode 0600 that did not exist before.
func writeSecretFile(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("security: %s exists and is not overwritten: move it away or choose another name: %w", path, fs.ErrExist)
	}
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(path) // half a key file is worse than none
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// shellQuote makes path one word of a shell command.
func shellQuote(path string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+,:@%=", r) ||
			r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
	}
	if strings.TrimFunc(path, plain) == "" && path != "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
