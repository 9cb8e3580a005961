// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"syscall"

	manet "github.com/multiformats/go-multiaddr/net"
	"golang.org/x/sys/unix"
)

// maxUnsent bounds what the kernel takes from us before the line has taken it,
// in bytes. The kernel would buffer megabytes for a slow line, and what is in
// its buffer has no priority any more.
const maxUnsent = 128 << 10

// limitUnsent applies maxUnsent; without it everything works, but urgent
// frames wait longer behind bulk.
func limitUnsent(c manet.Conn) {
	raw, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return
	}
	_ = control.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
	})
}
