// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait

import (
	"syscall"
	"unsafe"
)

// Read is read(2) of a socket that does not block.
func (c *Calls) Read(fd int, p []byte) (int, error) {
	if len(p) == 0 || c.tells() {
		return syscall.Read(fd, p)
	}
	return untold(syscall.SYS_READ, fd, p)
}

// Write is write(2) to a socket that does not block.
func (c *Calls) Write(fd int, p []byte) (int, error) {
	if c == nil || len(p) == 0 || len(p) > untoldBytes {
		return syscall.Write(fd, p)
	}
	return untold(syscall.SYS_WRITE, fd, p)
}

// untold needs at least one byte.
func untold(call uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
