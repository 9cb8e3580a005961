// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// HopConfig is what NewHop needs. Everything but Places, Room and Recycle is required.
type HopConfig struct {
	// Conduit takes frames to the client.
	Conduit Conduit
	// MaxTunnels bounds the client's tunnels of both kinds together.
	MaxTunnels int
	// BufferBytes bounds what may be under way through the relay, or stand in
	// line there, for all its tunnels in both directions. A tunnel takes 128 KiB
	// of it, or 1 KiB when three quarters are taken, and grows as windows do; one that
	// is idle gives back all but 1 KiB.
	BufferBytes int
	// Places and Room are what the client may have of the tunnels, and of the bytes
	// of windows, that all clients have together. Default: as many as it likes.
	Places, Room credit.Share
	// Recycle takes the memory of a chunk whose body Handle has kept.
	Recycle func(chunk []byte)
}

// Hop is one client that is attached here: the side of its spliced tunnels that
// its session is. All methods may be called concurrently, but for Handle.
type Hop struct {
	engine *Engine
	cfg    HopConfig
	remote *remote
	budget *credit.Budget

	mu     sync.Mutex // guards what follows
	open   int
	closed bool
	idle   chan struct{} // closed when no tunnel is left; nil = nobody waits
}

// Status is how many tunnels the client has, those that are being opened included.
func (l *Hop) Status() (open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Await waits until the client has no tunnel; others may open meanwhile. It returns the
// error of ctx if that ends before.
func (l *Hop) Await(ctx context.Context) error {
	l.mu.Lock()
	if l.open == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drain refuses new tunnels, and waits until those of the client are over. If ctx
// ends before, they are interrupted, and ctx's error is returned.
func (l *Hop) Drain(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	if l.Await(ctx) == nil {
		return nil
	}
	for _, t := range l.tunnels() {
		t.end(wire.CauseLeaving, patterns.ErrClosed)
	}
	return ctx.Err()
}

func (l *Hop) tunnels() []endpoint {
	return l.engine.table.all(func(p *port) bool { return p.remote == l.remote })
}

// Close ends all tunnels of the client, for the other sides as interrupted. It is
// idempotent and does not block.
func (l *Hop) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, t := range l.tunnels() {
		t.lose(patterns.ErrInterrupted)
	}
	e := l.engine
	e.table.mu.Lock()
	delete(e.table.clients, l)
	e.table.mu.Unlock()
}

// Handle takes in the body of a frame of kinds TunnelData, TunnelCredit,
// TunnelEnd or TunnelReset that the client has sent, and says whether the body is
// in use still. It does not block. The session's reader calls it, one frame at a
// time and in their order.
func (l *Hop) Handle(k wire.Kind, body []byte) (kept bool) {
	return l.engine.hear(l.remote, "", k, body)
}

// Open takes the tail, headers and body, of the Request by which the client opens
// a tunnel, and returns the tail to ask the network with, by Ask.Tail of pattern
// tunnel. Then Opened is due, or Abandon. Errors are those of Engine.Open; a
// *patterns.RemoteError says that the opening is malformed.
func (l *Hop) Open(cluster string, tail []byte) (*Splice, []byte, error) {
	head, m, err := splitOpening(l.engine, tail)
	if err != nil {
		return nil, nil, err
	}
	s, err := l.splice()
	switch {
	case err == errShare:
		return nil, nil, ErrShare
	case err == errLeaves:
		return nil, nil, patterns.ErrClosed
	case err == errFull:
		return nil, nil, &LimitError{"bytes for the tunnels of one program", l.cfg.BufferBytes}
	case err != nil:
		return nil, nil, &LimitError{"tunnels of one program", l.cfg.MaxTunnels}
	}
	o, err := l.engine.begin(cluster, l.budget)
	if err != nil {
		s.unsplice()
		return nil, nil, err
	}
	s.opening = o
	s.junction.flows[nodeSide] = newFlow(o.window, uint64(m.Credit))
	s.sides[clientSide].port = port{codec: codec{id: m.ID}, engine: l.engine, remote: l.remote, number: o.id}
	if !l.engine.table.add(&s.sides[clientSide]) {
		l.engine.drops.Inc(dropDuplicate)
		o.giveUp()
		s.unsplice()
		return nil, nil, patterns.ErrTooMany
	}
	m.ID, m.Credit, m.Stream = o.id, uint32(s.junction.flows[nodeSide].window.Total()), o.head
	return s, m.AppendTo(head), nil
}

// ID is that of a tunnel that the client opens, for Ask.Tunnel.
func (s *Splice) ID() uint64 { return s.sides[clientSide].number }

// Opened takes the answer to what Open has returned, and its tail, and returns
// the tail of the Reply to the client. Frames of the member may go to the client
// before that. With an error the tunnel is not open: it is patterns.ErrInterrupted.
func (s *Splice) Opened(a request.Answer, tail []byte) ([]byte, error) {
	e, o := s.engine, s.opening
	_, body, err := wire.DecodeHeaders(tail)
	if err != nil || s.sides[clientSide].gone() {
		e.disown(a.Member.Hop(), o.id)
		s.Abandon()
		return nil, patterns.ErrInterrupted
	}
	p, m, err := o.accepted(a, body)
	if err != nil {
		s.opening = nil
		s.finish()
		return nil, err
	}
	node := &s.sides[nodeSide]
	s.mu.Lock()
	over := s.junction.over
	node.port = p
	s.opening = nil
	s.junction.join(clientSide, uint64(m.Credit))
	total := s.junction.flows[clientSide].window.Total()
	s.mu.Unlock()
	o.join(node)
	if over { // the client was lost meanwhile
		node.sendReset(wire.TunnelReset{Cause: wire.CauseInterrupted})
		s.hop.budget.Close(o.window)
		e.leave(o.place, node.number)
		return nil, patterns.ErrInterrupted
	}
	e.rest()
	return wire.TunnelAccept{Credit: uint32(total)}.AppendTo(wire.AppendHeaders(nil, nil)), nil
}

// Server is the local member that an opening is for: *request.Server.
type Server interface {
	ID() cluster.MemberID
	Name() string
	Limits() patterns.Limits
	Keys() *security.Cluster
}

var _ Server = (*request.Server)(nil)

// Arrival is an opening for a member that is the client's, as request.Delivery
// has it.
type Arrival struct {
	Server            Server
	Link              request.Link
	Session           uint64  // of Link
	From              peer.ID // who has opened it; empty = Link's peer
	SenderIncarnation uint64
	Sealed            bool
	Tunnel            uint64 // its id on Link, if it comes by a gateway that can't open it; else 0
	Tail              []byte // headers and body
}

// Deliver takes an opening, and returns the tail of the Request by which the
// client's member gets it. Then Served is due, or Abandon. Errors are outcomes
// for the opener: *patterns.Refusal, *patterns.RemoteError.
func (l *Hop) Deliver(a Arrival) (*Splice, []byte, error) {
	e := l.engine
	head, m, err := splitOpening(e, a.Tail)
	if err != nil {
		return nil, nil, err
	}
	p, salt, err := e.admit(a, m)
	if err != nil {
		return nil, nil, err
	}
	defer e.table.left(p.remote)
	s, err := l.splice()
	if err == nil {
		s.sides[nodeSide].port, s.salt = p, salt
		s.sides[clientSide].port = port{codec: codec{id: e.ids.Add(1), flags: wire.FlagOpener}, engine: e, remote: l.remote, number: p.number}
		err = s.serve(m)
	}
	if err != nil {
		e.leave(p.place, p.number)
		return nil, nil, err
	}
	p.remote.hold()
	m.ID, m.Credit, m.Stream = s.sides[clientSide].id, uint32(s.junction.flows[clientSide].window.Total()), nil
	return s, m.AppendTo(head), nil
}

// serve puts the sides of a tunnel that came in their places.
func (s *Splice) serve(m wire.TunnelOpen) error {
	e := s.engine
	size := s.hop.budget.Open()
	if size == 0 {
		e.drops.Inc(dropBuffer)
		s.unsplice()
		return errBusy
	}
	s.junction.flows[nodeSide] = newFlow(size, 0)
	s.junction.join(clientSide, uint64(m.Credit))
	s.junction.joined, s.junction.served = false, true // until the client has answered
	if !e.table.add(&s.sides[nodeSide]) {
		e.drops.Inc(dropDuplicate)
		s.hop.budget.Close(size)
		s.unsplice()
		return errBusy
	}
	e.table.add(&s.sides[clientSide])
	return nil
}

// Served takes the tail of the client's Reply to what Deliver has returned, and
// returns the tail of the Reply to the opener, which has to be queued before
// another frame of the client is handled. With an error the tunnel is not open.
func (s *Splice) Served(tail []byte) ([]byte, error) {
	_, body, err := wire.DecodeHeaders(tail)
	m := wire.TunnelAccept{}
	if err == nil {
		m, err = wire.DecodeTunnelAccept(body)
	}
	if err != nil {
		s.engine.drops.Inc(dropMalformed)
		s.Abandon()
		return nil, patterns.ErrInterrupted
	}
	s.mu.Lock()
	over, early := s.junction.over, s.early
	s.junction.join(nodeSide, uint64(m.Credit))
	total := s.junction.flows[nodeSide].window.Total()
	s.mu.Unlock()
	if over {
		return nil, patterns.ErrInterrupted
	}
	if early != nil {
		s.reset(&s.sides[clientSide], *early)
	}
	s.engine.rest()
	answer := wire.TunnelAccept{Credit: uint32(total), Salt: s.salt}
	return answer.AppendTo(wire.AppendHeaders(nil, nil)), nil
}

// Abandon ends a tunnel that was not opened in the end: nobody has accepted it,
// or who opened it waits no longer. It is idempotent, and does nothing to one
// that is open.
func (s *Splice) Abandon() {
	s.mu.Lock()
	o := s.opening
	s.opening = nil
	joined := s.junction.joined
	s.mu.Unlock()
	switch {
	case o != nil:
		o.giveUp()
		s.close(nil, nil)
	case !joined: // the client's member may have accepted it
		s.close(&wire.TunnelReset{Cause: wire.CauseInterrupted}, nil)
	}
}

// splitOpening takes an opening apart: head is a copy of what stands before the
// body.
func splitOpening(e *Engine, tail []byte) (head []byte, m wire.TunnelOpen, err error) {
	_, body, err := wire.DecodeHeaders(tail)
	if err == nil {
		m, err = wire.DecodeTunnelOpen(body)
	}
	if err != nil {
		e.drops.Inc(dropMalformed)
		return nil, m, &patterns.RemoteError{Message: err.Error()}
	}
	head = make([]byte, len(tail)-len(body), len(tail)+64)
	copy(head, tail)
	return head, m, nil
}

// splice takes the place of one tunnel of the client, with the window of the
// direction from it.
func (l *Hop) splice() (*Splice, error) {
	e := l.engine
	l.mu.Lock()
	closed, full := l.closed, l.open >= l.cfg.MaxTunnels
	shared := !closed && !full && l.cfg.Places != nil && !l.cfg.Places.Take(1)
	if !closed && !full && !shared {
		l.open++
	}
	l.mu.Unlock()
	switch {
	case closed:
		return nil, errLeaves
	case full:
		e.drops.Inc(dropTunnels)
		return nil, errBusy
	case shared:
		e.drops.Inc(dropTunnels)
		return nil, errShare
	}
	size := l.budget.Open()
	if size == 0 {
		e.drops.Inc(dropBuffer)
		l.leave()
		return nil, errFull
	}
	s := &Splice{engine: e, hop: l}
	s.junction.flows[clientSide] = newFlow(size, 0)
	for i := range s.sides {
		s.sides[i].splice, s.sides[i].which = s, i
	}
	return s, nil
}

// unsplice is the reverse.
func (s *Splice) unsplice() {
	s.hop.budget.Close(s.junction.flows[clientSide].window.Size())
	s.hop.leave()
}

// leave gives the place of one tunnel back.
func (l *Hop) leave() {
	l.mu.Lock()
	l.open--
	if l.cfg.Places != nil {
		l.cfg.Places.Give(1)
	}
	var idle chan struct{}
	if l.open == 0 {
		idle, l.idle = l.idle, nil
	}
	l.mu.Unlock()
	if idle != nil {
		l.engine.wake("tunnel.idle", 0, func() { close(idle) })
	}
}
