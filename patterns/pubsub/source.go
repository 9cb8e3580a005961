// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/replay"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
	"github.com/arke-mesh/arke/security"
)

// sources are those whose sessions this node hears.
type sources struct {
	*env.Base
	local   *local
	arrived func(s *source, in *incoming)
	missing func(s *source, n uint64) // 0 = nobody knows how many

	mu     sync.Mutex
	all    *crowd.Table[sourceKey, peer.ID, *source]  // guarded by mu; by who brought them
	former *crowd.Table[sourceKey, peer.ID, memorial] // guarded by mu; of those that are forgotten; as many at most
	looked int64                                      // guarded by mu; when room was looked for last
}

// memorial is what is known for ever of a session that has been silent for long: the
// serials of its last path, and of the last message that was opened or verified.
type memorial struct{ path, seal uint64 }

func newSources(b *env.Base, l *local, arrived func(*source, *incoming), missing func(*source, uint64)) *sources {
	return &sources{
		Base: b, local: l, arrived: arrived, missing: missing,
		all:    crowd.NewTable[sourceKey, peer.ID, *source](env.MaxStreams, b.Random.IntN),
		former: crowd.NewTable[sourceKey, peer.ID, memorial](env.MaxStreams, b.Random.IntN),
	}
}

// sourceKey names a session.
type sourceKey struct {
	peer    peer.ID
	session uint64
}

// source is one session of one node, as far as it is for this one: the shell
// around its sequences. Its lock is never held while a message is delivered.
type source struct {
	// Immutable.
	of  *sources
	key sourceKey
	bearer
	do func(step[*incoming])

	subject subject // locks itself
	carries cargo

	// Owned by who delivers.
	now  incoming // what is delivered at once
	into delivery

	mu      sync.Mutex
	runs    []run                          // guarded by mu; the last one is not over
	todo    after.InOrder[step[*incoming]] // guarded by mu
	timer   overlay.Timer                  // guarded by mu; nil = not set
	due     int64                          // guarded by mu; when it fires
	last    int64                          // guarded by mu; when something came
	gone    bool                           // guarded by mu; it was told that the source is lost
	trust   belief                         // guarded by mu; in forwarders
	authors authorship
	life    uint64        // guarded by mu; of the source, if a path or a seal has told it
	seals   replay.Window // guarded by mu; of its sealed messages
	asked   int64         // guarded by mu; when it was asked to number anew; 0 = never
}

// cargo says what came of a source: messages of the peer itself, and of other networks.
type cargo struct{ own, lent atomic.Bool }

func (c *cargo) note(flags uint8) {
	if flags&wire.FlagLent != 0 {
		c.lent.Store(true)
	} else {
		c.own.Store(true)
	}
}

// unclear reports whether the publisher of missing messages is unknown.
func (c *cargo) unclear() bool { return c.lent.Load() || !c.own.Load() }

// bearer says whose a source is, and who has brought it.
type bearer struct {
	text string  // the peer, as subscribers see it
	by   peer.ID // the peer, or a forwarder that shows its path
}

// run is what is numbered together. When a source begins to count anew for this
// node, what it counted before may be under way still: it must not come after
// what is new.
type run struct {
	number uint32
	seq    sequence[*incoming]
	own    uint64 // the last number that came from the source itself
}

// lookBack is how many runs of one source are remembered.
const lookBack = 4

// incoming is the messages of one frame that came.
type incoming struct {
	publisher peer.ID
	m         wire.Publish
	lent      bool    // the memory of its messages is somebody else's …
	keeps     bool    // … who leaves it to us, if we say so …
	kept      bool    // … as we do
	root      bool    // of the root group
	own       bool    // the publisher itself sent them
	by        peer.ID // who sent the frame
	relay     bool    // to be passed on to its nodes; else to subscriptions here
	keyed     bool    // it is only for those here who hold the key that sealed it, in the group …
	word      string  // … of that first word
	skip      int     // of the first messages: they are late

	paths  *authorship // of the root group's, where the publisher is its own forwarder: what its paths say
	sealed []sealedAs  // of each message, if it was sealed; but for the skipped ones it must be unseen

	picks []wire.Pick // in place of the messages' own, of one that is passed on
}

// keep returns what can be kept.
func (in *incoming) keep() *incoming {
	c := *in
	c.m.Tail, c.m.Skips = nil, nil
	c.m.Forwarder.Signature = slices.Clone(c.m.Forwarder.Signature)
	if c.lent {
		c.m.Messages, c.lent, c.keeps = slices.Clone(c.m.Messages), false, false
	}
	return &c
}

// owned returns the messages of a run in memory of their own: that of the frame, where it
// may be kept, or one copy for all subscriptions.
func (in *incoming) owned(run wire.Messages) wire.Messages {
	if in.kept = in.kept || in.lent && in.keeps; in.lent && !in.keeps {
		run = slices.Clone(run)
	}
	return run
}

// rank is the place of the first message among those of its publisher.
func (in *incoming) rank() rank { return rank{in.m.Origin.Incarnation, in.m.Origin.Serial} }

// heard returns the source of a frame that came from that peer, and speaks of the
// numbers to last in a run, or nil: too many sources are heard, or it is not the
// source itself, and is not to be believed. word is that of its group.
func (t *sources) heard(from peer.ID, key sourceKey, word string, run uint32, last uint64) *source {
	s := t.find(key, word, from, from == key.peer)
	if s == nil {
		if from != key.peer {
			t.doubt(from, key.session) // it shows its path once more, if it has one
		}
		return nil
	}
	if s.subject.word != word {
		t.Drops.Inc(env.DropUnauthorized) // keys are those of the group
		return nil
	}
	if from == key.peer {
		return s
	}
	s.mu.Lock()
	ok := s.trust.allows(from, run, last)
	s.mu.Unlock()
	if !ok {
		t.Drops.Inc(env.DropNotNamed)
		t.doubt(from, key.session)
		return nil
	}
	return s
}

// listens says whether a run is for this node as it is now: for a life of a group, or, of
// the root group's forwarders, for the node.
func (t *sources) listens(word string, run uint32) bool {
	if word == env.RootForwards {
		return wire.RunTag(run) == wire.LifeTag(t.Cfg.Incarnation, 0)
	}
	return t.local.lives.has(word, run)
}

// doubt asks for a path, or for other numbers: see wire.PathLost. Where that has no
// room, the next message is a reason to ask again.
func (t *sources) doubt(whom peer.ID, session uint64) {
	m := wire.PathLost{Session: session, Peer: string(t.Self)}
	_, _ = t.Cfg.Links.Link(whom).Send(overlay.LanePub, wire.KindPathLost, m.AppendTo(nil))
}

// grant takes in that the peer shows a path, and says whether the source has signed
// it, and names the peer in it.
func (t *sources) grant(from, source peer.ID, p *wire.Path) bool {
	word, _, _ := cutLabel(p.Group)
	if word == env.RootForwards || !t.listens(word, p.Run) || p.Number < p.Proof.Base || p.Number > p.Proof.Base+env.MaxLead {
		return false
	}
	path, via, ok := fanout.Trace(t.Base, source, p)
	if !ok || !slices.Contains(via, from) {
		return false
	}
	g := grant{
		serial: p.Proof.Serial, floor: p.Proof.Floor, run: p.Run, base: p.Proof.Base, via: via, incarnation: p.Proof.Incarnation, nodes: path.Nodes,
		certificate: path.Certificate, signature: p.Proof.Signature,
	}
	key := sourceKey{source, p.Session}
	t.mu.Lock()
	s, _ := t.all.Get(key)
	t.mu.Unlock()
	fresh := s == nil || !s.believes(&g)
	if fresh {
		if !t.Verifies(from, func() error { return security.VerifyPath(path, g.signature[:]) }) {
			return false
		}
		if s = t.find(key, word, from, true); s == nil {
			return false
		}
	}
	if !s.subject.named(p.Group, fresh) {
		return false
	}
	return s.takeGrant(g, p.Proof.Certificate)
}

// allows says whether the publisher of a session may publish what comes through a
// forwarder. Of a session that no path is known of nothing is believed: see heard.
func (t *sources) allows(key sourceKey, m *wire.Publish) bool {
	t.mu.Lock()
	s, _ := t.all.Get(key)
	t.mu.Unlock()
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trust.may.lets(t.Cfg.Rights, key.peer, m)
}

// find returns the source of that key, or nil if there are too many that by has brought,
// or none and no new one is wanted.
func (t *sources) find(key sourceKey, word string, by peer.ID, fresh bool) *source {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.all.Get(key); ok {
		return s
	}
	if !fresh {
		t.Drops.Inc(env.DropNotNamed)
		return nil
	}
	s := &source{of: t, key: key, bearer: bearer{key.peer.String(), by}, last: t.Now()}
	gone, ok := t.all.Put(key, by, s)
	if !ok {
		t.Drops.Inc(env.DropStreams)
		if now := t.Now(); now-t.looked >= int64(env.RoomTime) { // so that there is room for the next one
			t.looked = now
			t.forgetLocked(now, int64(env.IdleTime))
		}
		return nil
	}
	if gone != nil {
		t.Drops.Inc(env.DropYielded)
		t.bury(gone.Value)
	}
	s.subject.word = word
	if m, ok := t.former.Get(key); ok {
		s.trust.oldest = m.path
		s.seals.Raise(m.seal)
		s.authors.seen.Raise(m.seal)
		t.former.Delete(key)
	}
	s.into.of, s.into.authors = t.local, &s.authors
	s.do = s.step
	if word != env.RootGroup && word != env.RootForwards {
		s.subject.keys = t.Cfg.Keys(env.ClusterOf(word))
	}
	return s
}

// sweep forgets those who have been silent for so long, and says how many are
// left.
func (t *sources) sweep(now, silent int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetLocked(now, silent)
	return t.all.Len()
}

func (t *sources) forgetLocked(now, silent int64) {
	for k, s := range t.all.All() {
		s.mu.Lock()
		over := now-s.last > silent
		s.mu.Unlock()
		if over {
			t.all.Delete(k)
			t.bury(s)
		}
	}
}

// bury keeps of a source that is forgotten what must be known for ever. mu is held.
func (t *sources) bury(s *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, signed := s.authors.newest()
	if m := (memorial{s.trust.newest(), max(s.seals.Newest(), signed)}); m != (memorial{}) {
		t.former.Delete(s.key)
		t.former.Put(s.key, s.by, m)
	}
	s.stop()
}

func (t *sources) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Len()
}

// event takes in that a session of a link has ended: what its peer had published,
// and not sent, is lost, unless it has said goodbye.
func (t *sources) event(ev overlay.PeerEvent) {
	if orderly(ev.Err) {
		return
	}
	t.mu.Lock()
	var lost []*source
	for k, s := range t.all.All() {
		if k.peer == ev.Peer && s.subject.word != env.RootGroup { // that one is the forwarder's
			lost = append(lost, s)
		}
	}
	t.mu.Unlock()
	slices.SortFunc(lost, func(a, b *source) int { return cmp.Compare(a.key.session, b.key.session) })
	for _, s := range lost {
		s.lost(t.Now())
	}
}

// orderly says whether the session of a link was ended on purpose.
func orderly(err error) bool {
	return errors.Is(err, overlay.ErrGoodbye) || errors.Is(err, overlay.ErrClosed)
}

// end stops all timers.
func (t *sources) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.all.All() {
		s.mu.Lock()
		s.stop()
		s.mu.Unlock()
	}
}

// unseen takes out what was opened before. A session has one life.
func (s *source) unseen(in *incoming) {
	if len(in.sealed) == 0 {
		return
	}
	s.mu.Lock()
	if s.life == 0 {
		s.life = in.sealed[0].life
	}
	replayed := in.unseen(s.life, &s.seals)
	s.mu.Unlock()
	s.of.Drops.Add(env.DropReplay, uint64(replayed))
}

// believes says whether a path has been verified before.
func (s *source) believes(g *grant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trust.known(g)
}

// takeGrant takes in a path that the source has signed. Where forwarders have gone
// beyond what it had addressed to this node, numbers are believed to go on from there.
func (s *source) takeGrant(g grant, certificate []byte) bool {
	s.mu.Lock()
	if len(s.trust.grants) == 0 { // what was sealed before is not for this node
		s.life = max(s.life, g.incarnation)
		s.seals.Raise(g.floor)
		s.authors.raise(g.incarnation, g.floor)
	}
	lied, ok := s.trust.add(g)
	if ok && g.serial == s.trust.newest() {
		s.trust.may.show(certificate)
	}
	if r, over := s.run(g.run); ok && lied && !over {
		s.of.Drops.Add(env.DropNotNamed, 1+r.seq.restart(max(g.base, r.own)))
	}
	s.todo.Run(&s.mu, s.do)
	return ok
}

// offer takes in messages, which have the numbers from first on, and size bytes. own
// says that the source itself sent them. It says whether their memory is kept.
func (s *source) offer(number uint32, first uint64, size int, in incoming, own bool) (kept bool) {
	count := uint64(in.m.Count)
	late := false
	s.carries.note(in.m.Flags)
	s.mu.Lock()
	s.last, s.gone = s.of.Now(), false
	r, over := s.run(number)
	if own {
		r.own = max(r.own, first+count-1)
	}
	switch {
	case over:
		s.of.Drops.Add(env.DropLate, count)
		r.seq.tell(s.last, first+count-1)
		s.advance(r)
	case r.seq.pass(first, count):
		if s.todo.Claim() {
			s.mu.Unlock()
			s.now = in
			s.of.arrived(s, &s.now)
			kept = s.now.kept
			s.now.m = wire.Publish{}
			s.mu.Lock()
			s.todo.Finish(&s.mu, s.do)
			s.mu.Unlock()
			return kept
		}
		s.todo.Add(step[*incoming]{item: in.keep()})
	case r.seq.offer(s.last, first, count, size, in.keep()):
		s.advance(r)
	default:
		s.of.Drops.Add(env.DropLate, count)
		late = own && s.doubts(number, first+count-1)
	}
	s.todo.Run(&s.mu, s.do)
	if late {
		s.of.doubt(s.key.peer, s.key.session)
	}
	return false
}

// doubts says whether what the source sent itself is late by the word of forwarders
// only. They may be right, and it slow: to number anew does no harm then.
func (s *source) doubts(run uint32, last uint64) bool {
	if !s.trust.moved(run, last) || s.asked != 0 && s.last-s.asked < int64(env.DoubtAgainTime) {
		return false
	}
	s.asked = s.last
	return true
}

// tell takes in how much has been addressed to this node.
func (s *source) tell(number uint32, count uint64) {
	s.mu.Lock()
	s.last = s.of.Now()
	r, _ := s.run(number)
	r.seq.tell(s.last, count)
	s.advance(r)
	s.todo.Run(&s.mu, s.do)
}

// lost takes in that the source's process is gone, or out of reach: if it was
// publishing of late, nobody knows what else there was. Nor does anybody know what a
// gateway had that was silent. It is told once.
func (s *source) lost(now int64) {
	s.mu.Lock()
	if !s.gone {
		s.gone = true
		s.todo.Add(step[*incoming]{skip: int(min(1, (now-s.last)/int64(env.IdleTime)))})
	}
	s.todo.Run(&s.mu, s.do)
}

// expire looks whether a hole has been waited for long enough.
func (s *source) expire() {
	s.mu.Lock()
	s.timer = nil
	s.advance(&s.runs[len(s.runs)-1])
	s.todo.Run(&s.mu, s.do)
}

// step does what was decided. The lock is not held.
func (s *source) step(t step[*incoming]) {
	switch {
	case t.item != nil:
		t.item.skip = t.skip
		s.of.arrived(s, t.item)
	case t.skip > 0 && !s.carries.lent.Load(): // it was silent, and had nothing of others
	default:
		s.of.missing(s, t.gap)
	}
}

// run returns the run of that number, and whether it is over. A new one ends
// those before. mu is held, as for all below.
func (s *source) run(number uint32) (r *run, over bool) {
	n := len(s.runs)
	for i := n - 1; i >= 0; i-- {
		if s.runs[i].number == number {
			return &s.runs[i], i < n-1
		}
	}
	fresh := run{number: number, seq: sequence[*incoming]{wait: int64(env.HoleTime), maxHeld: env.MaxHeld, maxBytes: env.MaxHeldBytes}}
	switch {
	case n == 0 || int16(uint16(number)-uint16(s.runs[n-1].number)) > 0:
		if n > 0 {
			s.retire(&s.runs[n-1])
			if wire.RunTag(number) == wire.RunTag(s.runs[n-1].number) {
				s.todo.Add(step[*incoming]{}) // how far the one before went nobody will tell
			}
		}
		s.runs = append(s.runs, fresh)
	default: // it came too late
		fresh.seq.wait = 0
		s.runs = slices.Insert(s.runs, 0, fresh)
		return &s.runs[0], true
	}
	if len(s.runs) > lookBack {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	return &s.runs[len(s.runs)-1], false
}

// retire hands on what waits; what is missing is not waited for, and what
// comes later counts as missing, too.
func (s *source) retire(r *run) {
	r.seq.wait = 0
	s.advance(r)
}

// advance hands on what can go on, and sets the timer for the rest.
func (s *source) advance(r *run) {
	if !s.of.listens(s.subject.word, r.number) {
		s.of.Drops.Add(env.DropEarlier, r.seq.restart(r.seq.begin()-1))
	}
	now := s.last
	if r.seq.wait != 0 {
		now = s.of.Now()
		if s.timer == nil { // perhaps a hole begins
			r.seq.wait = int64(s.of.Over(env.Hole))
		}
	}
	s.todo.Append(func(todo []step[*incoming]) []step[*incoming] { return r.seq.advance(now, todo) })
	if r.seq.late > 0 {
		s.of.Drops.Add(env.DropLate, r.seq.late)
		r.seq.late = 0
	}
	due, ok := s.runs[len(s.runs)-1].seq.due()
	if s.timer != nil && (!ok || due != s.due) {
		s.stop()
	}
	if ok && s.timer == nil {
		s.due = due
		s.timer = s.of.After("pubsub.hole", max(time.Duration(due-now), 0), s.expire)
	}
}

func (s *source) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}
