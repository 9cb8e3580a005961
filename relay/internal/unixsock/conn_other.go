// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package unixsock

import (
	"net"
	"syscall"
)

// Quiet returns c.
func Quiet(c net.Conn) net.Conn { return c }

// Of returns c if it is a unix socket.
func Of(c net.Conn) (syscall.Conn, bool) {
	s, ok := c.(*net.UnixConn)
	return s, ok
}
