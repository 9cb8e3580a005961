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

// setOptions tells the kernel what links are like; without it everything
// works, but urgent frames wait longer behind bulk, and losses cost more.
func setOptions(c manet.Conn) {
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
		// A link carries few and small packets most of the time, so that a loss
		// is noticed by its timeout only. The kernel doubles that each time, as
		// for a bulk transfer: after six losses in a row, which one packet of
		// 16,000 has on a link that loses 20 %, a link is silent for 13 s, and
		// given up. With this option the first six waits of a stream of less
		// than four packets are not doubled (tcp(7), tcp-thin.rst of Linux).
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS, 1)
	})
}
