// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
	"github.com/arke-mesh/arke/security"
)

// sealed is a crossing of a cluster that the gateway can't open: with the finding key it
// finds the members, and registers one of its own for each, with the member's lease in
// it. What callers send to that it passes on to the member as it came.
type sealed struct {
	// Immutable.
	l    *lend
	loan *loan // what messages count for

	wanted atomic.Pointer[security.FindingFile] // the finding keys, as the configuration has them

	// Set before members are passed on.
	from, to string // how the networks' nodes refer to the cluster

	wg sync.WaitGroup // of members

	mu      sync.Mutex
	members map[memberKey]*sealedMember // guarded by mu
	shown   seen                        // guarded by mu: what was seen last
	fault   error                       // guarded by mu: why nobody can be looked for, if so

	// Owned by run.
	leftOut map[memberKey]bool // beyond maxPassed
	keys    findingKeys
}

// maxPassed bounds the members of one crossing that are passed on. Each is a lease under
// each id of the cluster at each of its anchors there, which hold 8,192 for one id, and
// give a peer that has more than others less. All gateways of a pair choose the same.
const maxPassed = 256

// memberKey names one member in one life of its node.
type memberKey struct {
	peer        peer.ID
	member      cluster.MemberID
	incarnation uint64
}

func newSealed(l *lend) *sealed {
	return &sealed{l: l, loan: &loan{lend: l}, members: make(map[memberKey]*sealedMember), leftOut: make(map[memberKey]bool)}
}

// run passes members on until the crossing is no longer in force.
func (s *sealed) run() {
	l := s.l
	defer close(l.over)
	defer l.tunnels.close()
	release := s.find()
	if release == nil {
		return
	}
	defer release()
	w := l.from.Watch(s.from)
	defer w.Release()
	defer s.wg.Wait()
	for {
		s.rekey()
		v := w.View()
		s.follow(v)
		if !l.watches(w, v, "gateway.look") {
			break
		}
	}
	s.follow(&cluster.View{})
}

// find has both nodes know the finding key, and tries again until they do; nil if that is
// not needed any more.
func (s *sealed) find() (release func()) {
	s.l.tries(s.l.ctx, func() (err error) {
		release, err = s.tryFind()
		s.mu.Lock()
		s.fault = err
		s.mu.Unlock()
		s.l.warn(err)
		return err
	})
	return release
}

func (s *sealed) tryFind() (release func(), err error) {
	var giveFrom, giveTo func()
	wanted := s.wanted.Load()
	if s.from, giveFrom, err = s.l.from.Find(*wanted); err != nil {
		return nil, err
	}
	if s.to, giveTo, err = s.l.to.Find(*wanted); err != nil {
		giveFrom()
		return nil, err
	}
	s.keys = findingKeys{wanted: wanted, inUse: wanted.Keys}
	return func() { giveFrom(); giveTo() }, nil
}

// rekey has both nodes find by other keys, if it is time for that.
func (s *sealed) rekey() {
	keys := s.keys.step(s.l.of.clock.Now(), s.wanted.Load())
	if keys == nil {
		return
	}
	if err := errors.Join(s.l.from.FindUnder(s.from, keys), s.l.to.FindUnder(s.to, keys)); err != nil {
		s.l.log.Warn("the finding keys can't be used, so the old ones still count", zap.Error(err))
	}
}

// looked says that it is known who the members are.
func (s *sealed) looked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.known
}

// describe completes the status of the crossing.
func (s *sealed) describe(to *CrossingStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.Sealed, to.Members, to.Usable = true, s.shown.members, s.shown.usable
	faulty, first := 0, (*sealedMember)(nil)
	for _, p := range s.members {
		if p.registered.Load() {
			to.Passed++
		}
		if p.fault != nil {
			if faulty++; first == nil || p.number < first.number {
				first = p
			}
		}
	}
	to.Lent = to.Passed > 0
	switch {
	case s.fault != nil:
		to.Error = s.fault.Error()
	case faulty > 0:
		to.Error = fmt.Sprintf("%d of %d members: %v", faulty, len(s.members), first.fault)
	}
}

// failed notes why a member could not be passed on; nil = it could.
func (p *sealedMember) failed(err error) {
	s := p.s
	s.l.warn(err, zap.Stringer("member", p.member.Load().ID))
	s.mu.Lock()
	p.fault = err
	s.mu.Unlock()
}

// follow passes on whom the view shows, and nobody else.
func (s *sealed) follow(v *cluster.View) {
	l := s.l
	shown := look(v, &cluster.Transit{}, l.from.NetworkID(), (*cluster.Member).State)
	shown.reckon(l.reach, true)
	wanted, beyond := choose(v.Members)
	leftOut := make(map[memberKey]bool)
	for _, m := range beyond {
		key := keyOf(m)
		if leftOut[key] = true; !s.leftOut[key] {
			l.border.refused.Inc(refusedMembers)
		}
	}
	s.leftOut = leftOut
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = shown
	keep := make(map[memberKey]*sealedMember, len(wanted))
	for _, m := range wanted {
		key := keyOf(m)
		p := s.members[key]
		if p == nil {
			p = s.begin(m)
		}
		p.tell(m)
		keep[key] = p
	}
	for key, p := range s.members {
		switch {
		case keep[key] != nil:
		case shown.broken && l.ctx.Err() == nil: // it may still be there
			p.tell(p.member.Load())
			keep[key] = p
		default:
			s.wake(p, p.cancel)
		}
	}
	s.members = keep
}

// begin passes a member on.
func (s *sealed) begin(m *cluster.Member) *sealedMember {
	name := string(m.Peer) + m.ID.String()
	p := &sealedMember{s: s, number: numberOf(s.l.what.String() + "/" + name), news: make(chan struct{}, 1)}
	p.ctx, p.cancel = context.WithCancel(s.l.ctx)
	p.member.Store(m)
	s.wg.Add(1)
	s.l.of.spawn(overlay.ExecKey{Name: "gateway.member", N: p.number}, func() {
		defer s.wg.Done()
		p.run()
	})
	return p
}

// wake does what wakes the goroutine of a member; in package sim in a step of its own.
func (s *sealed) wake(p *sealedMember, f func()) {
	if x := s.l.of.exec; x != nil {
		x.Wake(overlay.ExecKey{Name: "gateway.member", N: p.number}, f)
		return
	}
	f()
}

// choose decides who is passed on: those of the network itself that have leases to pass
// on, up to maxPassed of them, by their random ids. Others are beyond.
func choose(members []*cluster.Member) (wanted, beyond []*cluster.Member) {
	own := slices.DeleteFunc(slices.Clone(members), func(m *cluster.Member) bool { return m.Imported || len(m.Passed()) == 0 })
	slices.SortFunc(own, func(a, b *cluster.Member) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Peer, b.Peer)) })
	n := min(len(own), maxPassed)
	return own[:n], own[n:]
}

func keyOf(m *cluster.Member) memberKey { return memberKey{m.Peer, m.ID, m.Incarnation} }

// sealedMember is one member of the far network that is passed on.
type sealedMember struct {
	// Immutable.
	s      *sealed
	number uint64        // of its goroutine
	news   chan struct{} // member is another description now, or may be in another state
	ctx    context.Context
	cancel context.CancelFunc

	state      string // of the member, as was told last; owned by sealed.run
	member     atomic.Pointer[cluster.Member]
	registered atomic.Bool
	fault      error // guarded by s.mu: why it could not be passed on, if so
}

var _ request.Forwarder = (*sealedMember)(nil)

// tell has the member be described as m.
func (p *sealedMember) tell(m *cluster.Member) {
	state := m.State()
	if p.member.Swap(m) == m && p.state == state {
		return
	}
	p.state = state
	p.s.wake(p, func() {
		select {
		case p.news <- struct{}{}:
		default:
		}
	})
}

// run keeps the member registered.
func (p *sealedMember) run() {
	l := p.s.l
	reg, m := p.register()
	if reg == nil {
		return
	}
	p.registered.Store(true)
	doubt := false
	for p.ctx.Err() == nil {
		now := p.member.Load()
		if !sameLeases(m, now) {
			m = now
			reg.Pass(m.Passed())
		}
		if state := now.State(); doubt != (state == "suspect" || state == "unreachable" || state == "gone") {
			doubt = !doubt
			reg.Suspect(doubt)
		}
		select {
		case <-p.news:
		case <-p.ctx.Done():
		}
	}
	p.registered.Store(false)
	l.of.drain(reg)
}

// register tries until it can be done; nil if it need not be done any more.
func (p *sealedMember) register() (reg *node.Forwarded, m *cluster.Member) {
	l := p.s.l
	if l.tries(p.ctx, func() (err error) {
		m = p.member.Load()
		as := cluster.Registration{Network: l.what.From, Priority: l.what.Priority, Passed: m.Passed()}
		reg, err = l.lends(p.ctx, p.s.to, as, p)
		p.failed(err)
		return err
	}) {
		l.settled.Store(true)
	}
	return reg, m
}

func sameLeases(a, b *cluster.Member) bool {
	return maps.EqualFunc(a.Passed(), b.Passed(), func(a, b cluster.Passed) bool { return bytes.Equal(a.Signature, b.Signature) })
}

// Deliver implements request.Forwarder.
func (p *sealedMember) Deliver(d *request.Delivery) {
	l := p.s.l
	if l.reach.cut.Load() {
		l.border.refused.Inc(refusedCut)
		d.Answer(wire.Reply{Outcome: wire.OutcomeUnreachable, Tail: noHeaders})
		return
	}
	c := p.s.loan.letIn(d)
	if c == nil {
		return
	}
	ask := request.Ask{
		Cluster: p.s.from, Pattern: d.Pattern, Tail: d.Tail, Deadline: d.Deadline, To: p.member.Load(), Origin: &d.Origin,
		Options: patterns.RequestOptions{Idempotent: d.Idempotent},
	}
	if d.Pattern == patterns.PatternTunnel {
		passTunnel(c, ask)
		return
	}
	c.cancelWith(l.from.Begin(ask, func(a request.Answer, err error) { passedBack(c, a, err) }))
}

// passTunnel opens the other half of a tunnel that stays sealed. Of the answer it sees whether
// the member has accepted it.
func passTunnel(c *cargo, ask request.Ask) {
	d := c.d
	x, id, err := c.l.tunnels.passages.Begin(tunnel.Crossing{
		Server: d.Server, Link: d.Link, Session: d.Session, Tunnel: d.Tunnel, To: ask.To, Deadline: d.Deadline,
	})
	c.l.border.opened()
	if err != nil {
		c.refuse(err)
		return
	}
	ask.Tunnel = id
	c.cancelWith(c.l.from.Begin(ask, func(a request.Answer, err error) {
		if err == nil && a.Reply.Outcome == wire.OutcomeReply {
			err = x.Opened(a.Session)
		} else {
			x.Abandon()
		}
		passedBack(c, a, err)
	}))
}

// Cancel implements request.Forwarder.
func (p *sealedMember) Cancel(d *request.Delivery) { p.s.loan.Cancel(d) }

// passedBack answers with what the member said, which only the caller can open; or, in
// clear, with what this gateway knows.
func passedBack(c *cargo, a request.Answer, err error) {
	r := a.Reply
	if err != nil {
		r = replyOf(request.Answer{}, err)
	}
	c.l.border.leave(c.l.of.clock.Now(), len(r.Tail))
	c.d.Answer(r)
}
