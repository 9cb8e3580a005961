// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxFile bounds what is read from a key file, in bytes.
const maxFile = 64 << 10

// readSecretFile reads a file that only its owner may read and write. It looks
// at the mode of the open file, so it can't be swapped in between.
func readSecretFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a directory: name the file in it", ErrBadFile, path)
	}
	if mode := info.Mode().Perm(); mode&^0o600 != 0 {
		return nil, fmt.Errorf("%w, but %s has %04o: run `chmod 600 %s`", ErrLooseMode, path, mode, shellQuote(path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %s is too large to be one: name another file", ErrBadFile, path)
	}
	return data, nil
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
