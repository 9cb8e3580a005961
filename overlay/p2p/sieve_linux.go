// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/security"
)

// silentFor is how long the kernel keeps a connection to itself that says nothing, in
// seconds. A dialler greets at once.
const silentFor = 5

// sift has the kernel keep connections that have not sent what may be a greeting.
// Beyond its backlog it does so without memory, by SYN cookies; without these it would
// drop connections of others. With 2,000 silent ones a second at a node that gets a
// fifteenth of a processor, honest ones took 3 to 7 ms, instead of up to 1.4 s. The error
// says why it does not: the listener is as good as any other then.
func sift(c syscall.RawConn) error {
	cookies, err := os.ReadFile("/proc/sys/net/ipv4/tcp_syncookies")
	switch {
	case err != nil:
		return fmt.Errorf("p2p: whether there are SYN cookies: %w", err)
	case string(bytes.TrimSpace(cookies)) == "0":
		return errors.New("p2p: SYN cookies are switched off (net.ipv4.tcp_syncookies)")
	}
	program, err := sieve()
	if err != nil {
		return fmt.Errorf("p2p: filter: %w", err)
	}
	var refused error
	err = c.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, silentFor); err != nil {
			refused = os.NewSyscallError("TCP_DEFER_ACCEPT", err)
		}
		if err := unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
			refused = os.NewSyscallError("SO_ATTACH_FILTER", err)
		}
	})
	return errors.Join(err, refused)
}

// sieve is what packets to a listener have to be: SYN or RST, or as long as the
// beginning of a greeting with the head of its record, which travel together. All others
// are dropped before there is a connection, the last one of TCP's own handshake included:
// the greeting does what that does. What they say is not looked at: a ClientHello is
// longer than a packet of Ethernet, and the rest of it comes to a connection that has the
// sieve still; dropped, it would come again after 200 ms. See
// https://www.kernel.org/doc/html/latest/networking/filter.html.
func sieve() (unix.SockFprog, error) {
	const (
		headLength, flags = 12, 13 // in TCP's head
		synOrRst          = 0x02 | 0x04
		pass, drop        = 1<<32 - 1, 0
	)
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: flags, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: synOrRst, SkipTrue: 7},
		bpf.LoadAbsolute{Off: headLength, Size: 1}, // in words of four bytes, in the upper half
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf0},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 2},
		bpf.TAX{},
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.ALUOpX{Op: bpf.ALUOpSub},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: security.GreetingSize + recordHead, SkipTrue: 1},
		bpf.RetConstant{Val: pass},
		bpf.RetConstant{Val: drop},
	})
	if err != nil {
		return unix.SockFprog{}, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}, nil
}

// unsift takes the sieve, which it has from its listener, off a connection.
func unsift(c net.Conn) {
	control(c, func(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) })
}
