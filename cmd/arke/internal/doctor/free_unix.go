// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// freeBytes is how much room the file system of path has for this user.
func freeBytes(path string) (n uint64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
