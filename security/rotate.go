// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// RotateKeys returns keys with a new one that is valid from now on. The others are
// valid for overlap longer, those that end before that as they were; without overlap
// they are left out, and so are those that have ended, with tolerance. now is cut to
// whole seconds. It returns ErrBadFile for keys that no file may have, else the error of rand.
func RotateKeys(keys []KeyVersion, now time.Time, overlap time.Duration, rand io.Reader) ([]KeyVersion, error) {
	if err := CheckKeys(keys); err != nil {
		return nil, err
	}
	now = now.UTC().Truncate(time.Second)
	end := now.Add(overlap).Truncate(time.Second)
	var out []KeyVersion
	for _, k := range keys {
		if overlap <= 0 || !k.validUntil(now, ClockTolerance) || !k.NotBefore.IsZero() && !k.NotBefore.Before(end) {
			continue
		}
		if k.validUntil(end, 0) {
			k.NotAfter = end
		}
		out = append(out, k)
	}
	fresh := KeyVersion{Version: keys[len(keys)-1].Version + 1, NotBefore: now}
	if len(out) == 0 {
		fresh.NotBefore = time.Time{} // there is none that it follows
	}
	if _, err := io.ReadFull(rand, fresh.Key[:]); err != nil {
		return nil, fmt.Errorf("security: rotate: %w", err)
	}
	out = append(out, fresh)
	return out, CheckKeys(out)
}

// EditNetworkFile has edit change a file, which is replaced at once: who reads it
// meanwhile has the old one or the new one, whole. It keeps its mode and
// its group, and its owner where this process may give it. Errors are those of
// ReadNetworkFile and of edit, ErrBadFile for what no file may say, and fs.ErrExist
// while somebody else edits it.
func EditNetworkFile(path string, edit func(*NetworkFile) error) error {
	return editFile(path, func() ([]byte, error) {
		f, err := ReadNetworkFile(path)
		if err == nil {
			err = errors.Join(edit(&f), f.check())
		}
		return f.Encode(), err
	})
}

// EditClusterFile is EditNetworkFile for the file of a cluster.
func EditClusterFile(path string, edit func(*ClusterFile) error) error {
	return editFile(path, func() ([]byte, error) {
		f, err := ReadClusterFile(path)
		if err == nil {
			err = errors.Join(edit(&f), f.check())
		}
		return f.Encode(), err
	})
}

// editFile replaces a file by what make returns. The new one is made beside it, under a
// name that keeps others out meanwhile.
func editFile(path string, make func() ([]byte, error)) (err error) {
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	draft := path + ".new"
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("security: somebody else changes %s, or was stopped: wait, or remove %s: %w", path, draft, fs.ErrExist)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(draft)
		}
	}()
	data, err := make()
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = errors.Join(keepOwner(f, info), f.Chmod(info.Mode().Perm()), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil // the file is as it should be; its directory can't be synced
	}
	defer dir.Close()
	_ = dir.Sync()
	return nil
}
