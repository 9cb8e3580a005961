// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package security

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// owner is who owns a file, as far as that matters here.
type owner struct {
	uid     int
	foreign bool // neither we nor root
	group   bool // its group is one of ours
}

func ownerOf(info fs.FileInfo) owner {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}
	}
	uid, gid := int(stat.Uid), int(stat.Gid)
	groups, _ := os.Getgroups() // without them there is still our own
	return owner{uid, uid != 0 && uid != os.Geteuid(), gid == os.Getegid() || slices.Contains(groups, gid)}
}
