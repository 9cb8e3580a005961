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
)

// lookUp returns the user of the process that connected, or that listened.
func lookUp(c syscall.Conn) (uid int, ok bool, err error) {
	cred, err := credentials(c)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}

// gone returns what says whether the process that connected has ended; nil if it
// can't be seen from here, as from another container.
func gone(c syscall.Conn) func() bool {
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
