// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package peercred

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tells says whether this system tells whose process is at the other end.
const Tells = true

// lookUp returns the credentials of the process that connected, or that listened.
func lookUp(c syscall.Conn) (Credentials, bool, error) {
	cred, err := credentials(c)
	if err != nil {
		return Credentials{}, false, err
	}
	others, err := supplementary(c)
	if err != nil {
		return Credentials{}, false, err
	}
	return Credentials{User: int(cred.Uid), Process: int(cred.Pid), Groups: append([]int{int(cred.Gid)}, others...)}, true, nil
}

// maxGroups is how many groups a process may have on Linux (NGROUPS_MAX).
const maxGroups = 65536

// supplementary returns the groups of the process besides its effective one. Kernels
// before 4.13 do not tell them.
func supplementary(c syscall.Conn) ([]int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var gids []uint32
	var errno syscall.Errno
	ask := func(fd uintptr) {
		for room := 64; ; room = maxGroups {
			gids = make([]uint32, room)
			size := uint32(4 * room)
			_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
				uintptr(unsafe.Pointer(&gids[0])), uintptr(unsafe.Pointer(&size)), 0)
			if errno == unix.ERANGE && room < maxGroups {
				continue
			}
			gids = gids[:min(int(size/4), room)]
			return
		}
	}
	switch err := raw.Control(ask); {
	case err != nil:
		return nil, err
	case errno == unix.ENOPROTOOPT:
		return nil, nil
	case errno != 0:
		return nil, errno
	}
	groups := make([]int, 0, len(gids))
	for _, g := range gids {
		groups = append(groups, int(g))
	}
	return groups, nil
}

// Gone returns what says whether the process that connected c has ended, a moment
// after it has; nil where that can't be told, as from another container. Of a pid that
// another process got meanwhile it says no.
func Gone(c syscall.Conn) func() bool {
	cred, err := credentials(c)
	if err != nil || cred.Pid <= 0 {
		return nil
	}
	file := fmt.Sprintf("/proc/%d/stat", cred.Pid)
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	return func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
		}
		// Behind the command's name, which may contain anything: a process that has
		// ended is a zombie until its parent knows.
		state := text[bytes.LastIndexByte(text, ')')+1:]
		return len(state) > 1 && (state[1] == 'Z' || state[1] == 'X')
	}
}

// credentials are those that the process had when it connected, or listened.
func credentials(c syscall.Conn) (*syscall.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return cred, credErr
}
