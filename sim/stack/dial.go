// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// synAgain is when a dial that nobody answered is repeated first; it doubles.
const synAgain = time.Second

// errUnanswered is what became of one attempt that nobody answered.
var errUnanswered = errors.New("stack: no answer")

// Dial implements p2p.Sockets: a round trip, then either end may send. Where
// nobody answers it goes on until ctx ends.
func (p *process) Dial(ctx context.Context, addr string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	for wait := synAgain; ; wait *= 2 {
		e, err := p.attempt(ctx, at)
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, errUnanswered):
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(at), Err: err}
		}
		if err := p.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// attempt sends one request for a connection.
func (p *process) attempt(ctx context.Context, at netip.AddrPort) (*end, error) {
	n := p.machine.net
	n.mu.Lock()
	to := n.byIP[at.Addr()]
	if to == nil {
		n.mu.Unlock()
		return nil, errUnanswered
	}
	forth, ok := n.path(p.machine, to).flight()
	n.mu.Unlock()
	if !ok {
		return nil, errUnanswered
	}
	if err := p.sleep(ctx, forth); err != nil {
		return nil, err
	}
	e, back, err := p.arrive(to, at.Port())
	if errors.Is(err, errUnanswered) {
		return nil, err
	}
	if sleepErr := p.sleep(ctx, back); sleepErr != nil {
		if e != nil {
			_ = e.Close()
		}
		return nil, sleepErr
	}
	return e, err
}

// arrive is what the machine does that the request gets to. back is how long
// its answer takes.
func (p *process) arrive(to *machine, port uint16) (_ *end, back time.Duration, _ error) {
	n := p.machine.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.path(p.machine, to).blocked() || p.state != running || to.proc != nil && to.proc.state == silent {
		return nil, 0, errUnanswered
	}
	back, ok := n.path(to, p.machine).flight()
	if !ok {
		return nil, 0, errUnanswered
	}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	if !to.alive() || to.proc.listeners[port] == nil {
		return nil, back, refused
	}
	e, other := connect(p, to.proc, p.machine.nextPort(), port)
	if !to.proc.listeners[port].offer(other) {
		other.shut()
		e.shut()
		return nil, back, refused
	}
	return e, back, nil
}

// flight draws how long a message takes that belongs to no connection yet;
// false means that it does not arrive.
func (p *path) flight() (time.Duration, bool) {
	if p.blocked() {
		return 0, false
	}
	takes, broken := p.link.Flight()
	return takes, !broken
}

// sleep waits for d, unless ctx or the process ends before.
func (p *process) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.gone:
		return net.ErrClosed
	}
}
