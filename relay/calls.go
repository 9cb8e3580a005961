// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
	"github.com/arke-mesh/arke/relay/policy"
)

// reserved begins the names of the clusters that the relay answers for.
const reserved = "$"

// calls are those of one client that have no reply yet.
type calls struct {
	c *client

	// Guarded by mu.
	mu     sync.Mutex
	open   map[uint64]*call
	bytes  int
	busy   int     // those in open, and those whose reply is not queued yet
	places portion // for those in open
	room   portion // for bytes
	idle   chan struct{}

	stopped atomic.Bool // set with mu held; none is taken any more
}

// call is one of them.
type call struct {
	of   *calls
	id   uint64
	size int
	ask  request.Ask
	wait bool // for a first member, if there is none
	// opened is the tunnel that the call opens, else nil.
	opened *tunnel.Splice

	// Guarded by of.mu.
	cancel  func() // nil while it is being started
	waiting bool   // nobody can have been asked yet, and the drain ends it
	ended   bool   // by the drain, or with the session
	gaveUp  bool   // by the client
}

func newCalls(c *client, number uint64) *calls {
	s := &c.relay.shares
	return &calls{
		c: c, open: map[uint64]*call{}, idle: make(chan struct{}),
		places: s.requests.Portion(number, ownPlaces, stepPlaces), room: s.bytes.Portion(number, ownBytes, stepBytes),
	}
}

// handleRequest begins a call.
func (s *calls) handleRequest(body []byte) error {
	m, err := wire.DecodeRequest(body)
	switch {
	case err != nil:
		return malformed(err)
	case m.Route == nil:
		return undue("a request without a route")
	case m.Origin != nil || m.Flags&wire.FlagSealed != 0:
		return undue("a request of somebody else")
	}
	k := &call{of: s, id: m.ID, size: len(body)}
	switch err := s.begin(k); {
	case errors.Is(err, errDuplicate):
		return undue(fmt.Sprintf("call %d is there already", m.ID))
	case err != nil:
		s.c.relay.count.limit(err)
		s.c.answers.reply(failed(m.ID, err))
		return nil
	}
	s.start(k, &m)
	return nil
}

// errDuplicate is returned for an id that is in use.
var errDuplicate = errors.New("relay: duplicate id")

// begin takes a place for a call.
func (s *calls) begin(k *call) error {
	limits := &s.c.relay.cfg.Limits
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open[k.id] != nil:
		return errDuplicate
	case s.stopped.Load():
		return errDraining
	case len(s.open) >= limits.Requests:
		return s.c.relay.refusals.requests
	case len(s.open) > 0 && s.bytes+k.size > limits.RequestBytes:
		// One that is alone may have any size, or a limit below the largest
		// message would refuse it for ever.
		return s.c.relay.refusals.bytes
	case !s.places.Cover(len(s.open) + 1):
		return s.c.relay.refusals.shareOfRequests
	case !s.room.Cover(s.bytes+k.size) && len(s.open) > 0:
		s.places.Cover(len(s.open))
		return s.c.relay.refusals.shareOfBytes
	}
	s.open[k.id] = k
	s.bytes += k.size
	s.busy++
	return nil
}

// start does what the call asks for.
func (s *calls) start(k *call, m *wire.Request) {
	r := m.Route
	ref, err := s.c.conn.keys.cluster(r.Cluster)
	k.ask = request.Ask{
		Cluster: ref, Pattern: patterns.Pattern(m.Pattern), Tail: m.Tail, Deadline: s.c.deadline(m.Deadline),
		Options: patterns.RequestOptions{
			Idempotent: m.Flags&wire.FlagIdempotent != 0,
			Policy:     patterns.Policy(r.Policy), StickyKey: r.StickyKey,
		},
		Client: s.c.origin, Waits: s.c.extent.waits,
	}
	k.wait = r.Options&wire.RouteWait != 0
	if err != nil {
		k.fail(err)
		return
	}
	reserves := strings.HasPrefix(r.Cluster, reserved)
	if !reserves && s.c.seat.observes {
		k.fail(fmt.Errorf("relay: an observer only asks the relay about itself: %w", patterns.ErrUnauthorized))
		return
	}
	if !reserves { // answer knows what those are about
		if err := s.c.rights.refuse(policy.Call, r.Cluster); err != nil {
			k.fail(err)
			return
		}
	}
	switch {
	case reserves:
		s.answer(k)
	case k.ask.Pattern == patterns.PatternSurvey || k.ask.Pattern == patterns.PatternBroadcast:
		s.everybody(k, r)
	case k.ask.Pattern == patterns.PatternTunnel:
		s.c.tunnels.open(k)
	default:
		k.run()
	}
}

// run asks the members there are, and only if nobody could be asked waits for
// one: that can be given up when the relay drains, because most likely still
// nobody has been asked.
func (k *call) run() {
	cancel := k.of.c.relay.cfg.Node.Begin(k.ask, k.answered)
	k.cancelWith(cancel)
}

// cancelWith says how the call is given up.
func (k *call) cancelWith(cancel func()) {
	k.of.mu.Lock()
	k.cancel = cancel
	over := k.ended || k.gaveUp
	k.of.mu.Unlock()
	if over {
		cancel()
	}
}

func (k *call) answered(a request.Answer, err error) {
	if k.again(err) {
		k.ask.Options.WaitForMember = true
		k.run()
		return
	}
	if k.opened != nil {
		k.finish(k.openedReply(a, err))
		return
	}
	k.finish(replyOf(k.id, a, k.outcome(err)), a.Tail)
}

// again says that the call is to wait for a member now.
func (k *call) again(err error) bool {
	if !k.wait || !nobodyAsked(err) {
		return false
	}
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	if k.waiting || k.of.c.relay.isDraining() {
		return false
	}
	k.waiting, k.cancel = true, nil
	return true
}

// outcome returns what the client is told in place of err while the relay
// drains.
func (k *call) outcome(err error) error {
	if !k.of.c.relay.isDraining() {
		return err
	}
	k.of.mu.Lock()
	ended := k.ended
	k.of.mu.Unlock()
	var late *patterns.DeadlineError
	switch {
	case nobodyAsked(err): // perhaps only because the members are leaving with this relay
		return errDraining
	case ended && errors.As(err, &late):
		if late.MaybeRan {
			return patterns.ErrInterrupted
		}
		return errDraining
	}
	return err
}

// nobodyAsked says that err means that no member has seen the request, and that
// there may be one elsewhere or soon.
func nobodyAsked(err error) bool {
	return !errors.Is(err, patterns.ErrInterrupted) &&
		(errors.Is(err, patterns.ErrNoMembers) || errors.Is(err, patterns.ErrUnreachable) || errors.Is(err, patterns.ErrClosed))
}

// finish gives the call's place back, and queues its reply. In this order: the
// client may use both again as soon as it has read the reply.
func (k *call) finish(r wire.Reply, tail []byte) {
	s := k.of
	s.mu.Lock()
	delete(s.open, k.id)
	s.bytes -= k.size
	s.places.Cover(len(s.open))
	s.room.Cover(s.bytes)
	s.mu.Unlock()
	if r.Outcome == wire.OutcomeReply {
		r.Tail = tail
	}
	s.c.answers.reply(r)
	s.leave()
}

// fail is finish for a call that nobody answered. It counts a limit of the client's.
func (k *call) fail(err error) {
	k.of.c.relay.count.limit(err)
	k.finish(failed(k.id, k.outcome(err)), nil)
}

// replyOf is the reply without its tail, unless it is an error's.
func replyOf(id uint64, a request.Answer, err error) wire.Reply {
	r := wire.Reply{ID: id, From: &wire.From{}}
	if err != nil {
		r = failed(id, err)
	}
	r.From.Attempts = uint8(min(a.Attempts, 1<<8-1))
	if a.Member != nil {
		r.From.Member, r.From.Peer = uint64(a.Member.ID), string(a.Member.Peer)
	}
	r.Queue, r.Running = uint32(a.Queue), uint32(a.Running)
	r.ServiceMicros = uint32(min(a.Service/time.Microsecond, 1<<32-1))
	return r
}

// failed is the reply that says err.
func failed(id uint64, err error) wire.Reply {
	f := failureOf(err)
	r := wire.Reply{ID: id, Outcome: f.Outcome, Code: f.Code, From: &wire.From{}, Tail: wire.AppendTail(nil, nil, []byte(wire.CutText(f.Text)))}
	if f.MaybeRan {
		r.Flags = wire.FlagMaybeRan
	}
	return r
}

// failureOf is patterns.FailureOf, and knows what only a relay says.
func failureOf(err error) patterns.Failure {
	if errors.Is(err, errDraining) {
		return patterns.Failure{Outcome: wire.OutcomeDraining}
	}
	return patterns.FailureOf(err)
}

// handleCancel gives a call up; one that is not there is no error.
func (s *calls) handleCancel(body []byte) error {
	m, err := wire.DecodeCancel(body)
	if err != nil {
		return malformed(err)
	}
	s.mu.Lock()
	var cancel func()
	if k := s.open[m.ID]; k != nil {
		k.gaveUp, cancel = true, k.cancel
	}
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil
}

// drain ends the calls that wait for a first member.
func (s *calls) drain() { s.end(func(k *call) bool { return k.waiting }) }

// endAll ends all calls: their client is gone.
func (s *calls) endAll() { s.end(func(*call) bool { return true }) }

func (s *calls) end(which func(*call) bool) {
	var do after.List
	s.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(s.open)) {
		if k := s.open[id]; which(k) {
			k.ended = true
			if k.cancel != nil {
				do.Add(k.cancel)
			}
		}
	}
	s.mu.Unlock()
	do.Run()
}

// stop takes no calls any more; the channel is closed when the last one has its
// reply.
func (s *calls) stop() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped.Swap(true) {
		s.rest()
	}
	return s.idle
}

// rest closes idle when the last call is over. The caller holds mu.
func (s *calls) rest() {
	if s.stopped.Load() && s.busy == 0 {
		close(s.idle)
	}
}

// enter counts work that is no call and outlives its frame, unless none is taken any
// more; leave is its end, and that of a call.
func (s *calls) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Load() {
		return false
	}
	s.busy++
	return true
}

func (s *calls) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.rest()
}

// status says how many calls there are, and the bytes of their frames.
func (s *calls) status() (count, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open), s.bytes
}
