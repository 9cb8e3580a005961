// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package security

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// nonBlocking opens a pipe without waiting for its writer.
const nonBlocking = syscall.O_NONBLOCK

// owner is who owns a file, as far as that matters here.
type owner struct {
	uid     int
	foreign bool // neither we nor root
	group   bool // its group is one of ours, or we are root and the file is ours
}

func ownerOf(info fs.FileInfo) owner {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}
	}
	uid, gid := int(stat.Uid), int(stat.Gid)
	groups, _ := os.Getgroups() // without them there is still our own
	return owner{uid, uid != 0 && uid != os.Geteuid(), os.Geteuid() == 0 && uid == 0 || gid == os.Getegid() || slices.Contains(groups, gid)}
}

// keepOwner gives a file the group of the one that it replaces, and its owner where
// this process may do so.
func keepOwner(f *os.File, replaced fs.FileInfo) error {
	was, ok := replaced.Sys().(*syscall.Stat_t)
	if !ok || f.Chown(int(was.Uid), int(was.Gid)) == nil {
		return nil
	}
	if err := f.Chown(-1, int(was.Gid)); err != nil {
		return fmt.Errorf("security: the changed file would have another group than before, and be lost for some: run this as user %d: %w", was.Uid, err)
	}
	return nil
}
