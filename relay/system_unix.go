// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package relay

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("locked by another process")

// lockFile takes the lock of a file, which it makes and which stays, since
// removing it would race with who opens it. The lock ends with the process.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// makePrivate lets only this user connect to a socket, from the moment it is bound.
// Other systems than Linux may refuse that for sockets; they then have the umask's mode
// until its own is set.
func makePrivate(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) }

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
