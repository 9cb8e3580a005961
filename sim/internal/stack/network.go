// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/sim/link"
)

// network carries bytes between machines, in place of kernels and cables.
// Nobody waits while holding its lock.
type network struct {
	// Immutable after newNetwork.
	seed  uint64
	begun time.Time

	mu       sync.Mutex
	model    func(from, to string) link.Model // guarded by mu
	machines []*machine                       // guarded by mu, as everything reached from here
	byName   map[string]*machine
	byIP     map[netip.Addr]*machine
	paths    map[ends]*path
	lossless bool // no link loses anything any more
}

// ends are the machines of a path.
type ends struct{ from, to *machine }

func newNetwork(seed uint64, model link.Model) *network {
	return &network{
		seed: seed, begun: time.Now(),
		model:  func(string, string) link.Model { return model },
		byName: make(map[string]*machine),
		byIP:   make(map[netip.Addr]*machine),
		paths:  make(map[ends]*path),
	}
}

// now is the time since the network was made.
func (n *network) now() time.Duration { return time.Since(n.begun) }

// machine returns the machine of that name, which is made if need be. It needs
// mu.
func (n *network) machine(name string) *machine {
	if m := n.byName[name]; m != nil {
		return m
	}
	number := len(n.machines) + 1
	m := &machine{
		net: n, name: name, port: firstPort,
		ip:    netip.AddrFrom4([4]byte{10, byte(number >> 16), byte(number >> 8), byte(number)}),
		clock: newSkewed(),
	}
	n.machines = append(n.machines, m)
	n.byName[name], n.byIP[m.ip] = m, m
	return m
}

// path returns the path from one machine to another one. It needs mu.
func (n *network) path(from, to *machine) *path {
	key := ends{from, to}
	p := n.paths[key]
	if p == nil {
		var m link.Model
		if from != to {
			if m = n.model(from.name, to.name); n.lossless {
				m.Loss = 0
			}
		}
		p = &path{net: n, link: link.NewDirection(m, n.seed, from.name, to.name)}
		n.paths[key] = p
	}
	return p
}

// between calls f for each path from one of the first to one of the others. It
// needs mu.
func (n *network) between(from, to []string, f func(*path)) {
	for _, a := range from {
		for _, b := range to {
			if a != b {
				f(n.path(n.machine(a), n.machine(b)))
			}
		}
	}
}

// setModels changes the links of all paths, known and unknown.
func (n *network) setModels(of func(from, to string) link.Model) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.model = of
	for key, p := range n.paths {
		if key.from != key.to {
			p.link.SetModel(of(key.from.name, key.to.name))
		}
	}
}

// heal ends all cuts and clogs. It needs mu.
func (n *network) heal() {
	for _, p := range n.paths {
		p.set(&p.cut, false)
		p.set(&p.clogged, false)
	}
}

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

// path is one direction between two machines. Guarded by network.mu.
type path struct {
	net     *network
	link    *link.Direction
	cut     bool // what arrives is lost
	clogged bool // what arrives is held
	corrupt int  // deliveries that will be corrupted
	stalled []*flow
}

// blocked reports whether nothing passes.
func (p *path) blocked() bool { return p.cut || p.clogged }

// set changes cut or clogged.
func (p *path) set(field *bool, on bool) {
	*field = on
	if p.blocked() {
		return
	}
	stalled := p.stalled
	p.stalled = nil
	for _, f := range stalled {
		f.mended()
	}
}

// stall has f told when nothing blocks the path any more.
func (p *path) stall(f *flow) {
	if !slices.Contains(p.stalled, f) {
		p.stalled = append(p.stalled, f)
	}
}

// backlog bounds the connections that wait for Accept; more are refused.
const backlog = 4096

// listener accepts connections. Guarded by network.mu.
type listener struct {
	proc    *process // immutable
	port    uint16   // immutable
	ready   []*end
	closed  bool
	waiting *sync.Cond
}

var _ net.Listener = (*listener)(nil)

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	mu := &l.proc.machine.net.mu
	mu.Lock()
	defer mu.Unlock()
	for {
		switch {
		case l.closed:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
		case len(l.ready) > 0 && !l.proc.frozen:
			e := l.ready[0]
			l.ready = l.ready[1:]
			return e, nil
		}
		l.waiting.Wait()
	}
}

// offer has Accept return e; false means that there is no place. It needs mu,
// and a process that runs.
func (l *listener) offer(e *end) bool {
	if l.closed || len(l.ready) >= backlog {
		return false
	}
	l.ready = append(l.ready, e)
	l.waiting.Broadcast()
	return true
}

// Close implements net.Listener. Connections that were not accepted are reset.
func (l *listener) Close() error {
	mu := &l.proc.machine.net.mu
	mu.Lock()
	defer mu.Unlock()
	if l.closed {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
	l.closed = true
	delete(l.proc.listeners, l.port)
	l.drop()
	l.waiting.Broadcast()
	return nil
}

// drop resets what was not accepted. It needs mu.
func (l *listener) drop() {
	for _, e := range l.ready {
		e.shut()
	}
	l.ready = nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.proc.machine.addr(l.port) }

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
