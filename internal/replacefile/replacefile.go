// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package replacefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts a file with that content and mode at path, and returns when it is on the
// disk. Two writers of one path don't disturb each other: the last one stays.
func Write(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename, as it should
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path)) // makes the rename durable
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
