// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"math"
	"syscall"

	manet "github.com/multiformats/go-multiaddr/net"
	"golang.org/x/sys/unix"
)

// longestWait bounds how long the kernel waits before it repeats what was lost,
// in milliseconds; 1,000 is the least that can be asked for. It doubles its
// waits, up to two minutes, as for a bulk transfer. But what a link carries is
// wanted now: after six losses in a row, which one packet of 16,000 has where
// 20 % are lost, it would be silent for 13 s and be given up; and after a
// partition it would stay silent for as long again as the partition was.
const longestWait = 1000

// tcpPatience is how long it goes on in vain before it gives a connection up, in
// milliseconds. Without it longestWait would mean 14 s, and its absence a
// quarter of an hour.
const tcpPatience = 30_000

// setOptions tells the kernel what links are like. Without it, and with kernels
// that don't know an option (longestWait: before 6.15), everything works, but
// urgent frames wait longer behind bulk, and losses cost more.
func setOptions(c manet.Conn) {
	control(c, func(fd int) {
		for option, value := range map[int]int{
			unix.TCP_NOTSENT_LOWAT: maxUnsent,
			unix.TCP_RTO_MAX_MS:    longestWait,
			unix.TCP_USER_TIMEOUT:  tcpPatience,
			// A link has few packets under way most of the time, so that a loss
			// shows by a timeout only. The first six waits of such a stream are
			// then not doubled at all (tcp-thin.rst of Linux).
			unix.TCP_THIN_LINEAR_TIMEOUTS: 1,
		} {
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, option, value)
		}
	})
}

// waitingLimit is how many connections may wait at the door, so that strangers leave
// files for everybody else.
func waitingLimit() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxInt
	}
	return int(min(max(l.Cur/4, 16), math.MaxInt))
}

// setUnsent changes the bound on what the kernel takes before the line has.
func setUnsent(c any, bytes int) {
	control(c, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, min(max(bytes, minUnsent), maxUnsent))
	})
}

// control calls f with the descriptor of c, if that is a socket.
func control(c any, f func(fd int)) {
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(int(fd)) })
		}
	}
}
