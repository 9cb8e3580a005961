// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"github.com/arke-mesh/arke/overlay/p2p"
)

const (
	nodePort  = 4001  // nodes listen at
	firstPort = 32768 // that connections are dialled from
)

// machine is where nodes of one name live, one after the other. Guarded by
// network.mu, except what is marked.
type machine struct {
	net   *network   // immutable
	name  string     // immutable
	ip    netip.Addr // immutable
	clock *skewed    // immutable; has its own lock

	port        uint16   // that was dialled from last
	incarnation uint64   // how many processes there were
	proc        *process // the last one; nil before the first
}

func (m *machine) addr(port uint16) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(m.ip, port))
}

// nextPort returns a port to dial from.
func (m *machine) nextPort() uint16 {
	if m.port++; m.port < firstPort {
		m.port = firstPort
	}
	return m.port
}

// process is one life of a node, as its kernel sees it. It is the node's
// p2p.Sockets. Guarded by network.mu, except what is marked.
type process struct {
	machine *machine      // immutable
	gone    chan struct{} // immutable; closed when state is not running any more

	state     state
	frozen    bool // nothing gets in or out of the process
	listeners map[uint16]*listener
	ends      map[*end]struct{}
}

type state uint8

const (
	running state = iota
	exited        // its kernel answers for it
	silent        // nobody does
)

var _ p2p.Sockets = (*process)(nil)

// boot starts a process; there must not be a running one. It needs mu.
func (m *machine) boot() *process {
	m.incarnation++
	m.proc = &process{
		machine: m, gone: make(chan struct{}),
		listeners: make(map[uint16]*listener), ends: make(map[*end]struct{}),
	}
	return m.proc
}

// alive reports whether a process runs. It needs mu.
func (m *machine) alive() bool { return m.proc != nil && m.proc.state == running }

// leave ends the process, with or without a word to its peers. It needs mu.
func (p *process) leave(s state) {
	if p.state != running {
		return
	}
	p.state, p.frozen = s, false
	close(p.gone)
	for _, l := range p.listeners {
		l.drop() // its Accept waits on: in a dead process nobody would see an error
	}
	lost := os.NewSyscallError("read", syscall.ECONNRESET)
	for e := range p.ends {
		if s == exited {
			e.out.drop()
			e.out.send(kindReset, nil)
		}
		e.fail(lost)
	}
}

// freeze stops everything that goes in and out, or lets it go on. It needs mu.
func (p *process) freeze(on bool) {
	if p == nil || p.state != running || p.frozen == on {
		return
	}
	p.frozen = on
	for e := range p.ends {
		e.readable.Broadcast()
		e.writable.Broadcast()
	}
	for _, l := range p.listeners {
		l.waiting.Broadcast()
	}
}

// Listen implements p2p.Sockets.
func (p *process) Listen(addr string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	n := p.machine.net
	n.mu.Lock()
	defer n.mu.Unlock()
	port := at.Port()
	if port == 0 {
		port = p.machine.nextPort()
	}
	bad := func(err error) (net.Listener, error) {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: p.machine.addr(port), Err: os.NewSyscallError("bind", err)}
	}
	switch {
	case p.state != running:
		return bad(syscall.ENETDOWN)
	case at.Addr() != p.machine.ip:
		return bad(syscall.EADDRNOTAVAIL)
	case p.listeners[port] != nil:
		return bad(syscall.EADDRINUSE)
	}
	l := &listener{proc: p, port: port, waiting: sync.NewCond(&n.mu)}
	p.listeners[port] = l
	return l, nil
}
