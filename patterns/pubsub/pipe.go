// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// verdict is what became of a frame.
type verdict uint8

const (
	sent verdict = iota // it is in the lane, or will be when the link stands
	full                // there is no room now; nothing was sent
	lost                // the link is lost, or could not be established, for too long
)

// pipe is the way out to one peer: its link's lane pub, and what is sent again
// on the next session of the link when one breaks.
type pipe struct {
	// Immutable.
	e    *Engine
	peer peer.ID
	link Link
	id   uint64

	over atomic.Bool // written under mu; it was not used for long, and there may be another one

	mu       sync.Mutex
	release  func()     // guarded by mu; ends the hold
	kept     history    // guarded by mu
	session  uint64     // guarded by mu; in which the peer knows what follows; 0 = none
	told     uint64     // guarded by mu; the incarnation that it knows what follows is for
	losses   uint64     // guarded by mu; how often something may have been lost
	watchers []*watcher // guarded by mu; publishers that wait for a change
	flushed  bool       // guarded by mu; what waited was sent: they have to look again
	last     int64      // guarded by mu; when it was used
	scratch  []byte     // guarded by mu
	outage              // guarded by mu
}

// destination says where a frame goes: to a node with these addresses, as long
// as it is not started anew.
type destination struct {
	addrs       []string
	incarnation uint64 // 0 = any
}

// pipe returns the way to p.
func (e *Engine) pipe(p peer.ID) *pipe {
	e.mu.Lock()
	q := e.pipes[p]
	fresh := q == nil || q.over.Load()
	if fresh {
		q = &pipe{e: e, peer: p, link: e.cfg.Links.Link(p), id: e.hops.Uint64(), kept: newHistory(maxKept)}
		q.last = e.now()
		e.pipes[p] = q
	}
	e.mu.Unlock()
	if fresh {
		e.armSweep()
	}
	return q
}

// rest ends the hold of a link that has not been used for a while, frees what
// is not needed, and says whether the pipe is not, either.
func (q *pipe) rest(now int64) (over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept.trim()
	if q.kept.waiting() {
		return false
	}
	idle := now - q.last
	if idle > int64(idleTime) && q.release != nil {
		q.release()
		q.release = nil
	}
	if idle > int64(ghostTime) {
		q.over.Store(true)
	}
	return q.over.Load()
}

// send puts a frame into the lane, or keeps it until the link stands. It never
// blocks. losses identifies the time in which nothing was lost on the way.
func (q *pipe) send(to destination, k wire.Kind, parts ...[]byte) (v verdict, losses uint64) {
	q.mu.Lock()
	if q.over.Load() {
		q.mu.Unlock()
		return q.e.pipe(q.peer).send(to, k, parts...)
	}
	defer q.unlock()
	q.last = q.e.now()
	if q.release == nil { // so that a node that hangs is noticed
		q.release = q.link.Hold()
	}
	if len(to.addrs) > 0 {
		q.addrs = to.addrs
	}
	v = q.put(to.incarnation, k, parts)
	if v == full && (q.failed || q.link.Suspect()) { // nobody waits for such a node
		v = lost
	}
	if v == lost {
		q.losses++
	}
	return v, q.losses
}

func (q *pipe) put(incarnation uint64, k wire.Kind, parts [][]byte) verdict {
	if q.peer == q.e.self { // that link never breaks
		_, err := q.link.Send(overlay.LanePub, k, parts...)
		return verdictOf(err)
	}
	if q.kept.waiting() {
		q.flush() // if the link came up just now
	}
	switch n := sizeOf(parts); {
	case q.kept.waiting() || q.link.Session() == 0:
		return q.wait(incarnation, k, parts)
	case n > wire.MaxPayload:
		return q.giveLarge(incarnation, n, parts)
	}
	err := q.give(incarnation, k, parts...)
	switch {
	case err == nil:
		q.kept.record(incarnation, k, parts...)
	case errors.Is(err, overlay.ErrLinkDown):
		return q.wait(incarnation, k, parts)
	}
	return verdictOf(err)
}

// give hands the next frame to the lane. The peer must know what it gets.
func (q *pipe) give(incarnation uint64, k wire.Kind, parts ...[]byte) error {
	if q.session != 0 && q.session != q.link.Session() {
		q.cut()
		return overlay.ErrLinkDown // the event of the next one will be here at once
	}
	if q.session == 0 || incarnation != q.told && incarnation != 0 {
		if err := q.announce(incarnation); err != nil {
			return err
		}
	}
	n, err := q.link.Send(overlay.LanePub, k, parts...)
	if err == nil && n.Session != q.session {
		q.cut() // the peer does not know what it is, and takes no notice
		return overlay.ErrLinkDown
	}
	return err
}

// announce tells the peer which frames follow.
func (q *pipe) announce(incarnation uint64) error {
	m := wire.PublishResume{Pipe: q.id, Incarnation: incarnation, First: q.kept.due}
	q.scratch = m.AppendTo(q.scratch[:0])
	n, err := q.link.Send(overlay.LanePub, wire.KindPublishResume, q.scratch)
	switch {
	case err != nil:
		return err
	case q.session != 0 && q.session != n.Session:
		q.cut()
		return overlay.ErrLinkDown
	}
	if gone := q.kept.missing(); gone > 0 {
		q.e.drops.Add(dropUnconfirmed, gone)
		q.losses++
		q.kept.forgive()
	}
	q.session, q.told = n.Session, incarnation
	return nil
}

// giveLarge sends a message in parts.
func (q *pipe) giveLarge(incarnation uint64, n int, parts [][]byte) verdict {
	if !q.waitLarge(incarnation, n, parts) {
		return full
	}
	before := q.kept.due
	q.flush()
	if q.kept.due == before && q.session != 0 { // not one part has room
		q.kept.retract()
		return full
	}
	return sent
}

// waitLarge has all parts of a large message wait, or none.
func (q *pipe) waitLarge(incarnation uint64, n int, parts [][]byte) bool {
	if !q.kept.fits(n, n/wire.MaxPart+1) {
		return false
	}
	whole := slices.Concat(parts...)
	for at := 0; at < n; at += wire.MaxPart {
		piece := whole[at:min(at+wire.MaxPart, n)]
		flags := []byte{0}
		if at == 0 {
			flags[0] |= wire.PartFirst
		}
		if at+len(piece) == n {
			flags[0] |= wire.PartLast
		}
		q.kept.wait(incarnation, wire.KindPublishPart, flags, piece)
	}
	return true
}

// flush sends what waits, as far as there is room.
func (q *pipe) flush() {
	before := q.kept.waiting()
	for q.kept.waiting() && q.link.Session() != 0 {
		f := q.kept.oldest()
		if err := q.give(f.incarnation, f.kind, f.parts[0], f.parts[1]); err != nil {
			break
		}
		q.kept.sent()
	}
	q.flushed = q.flushed || before && !q.kept.waiting()
	q.arm()
}

// cut notes that a session is over: what the peer has not acknowledged has to be
// sent again.
func (q *pipe) cut() {
	q.session = 0
	q.kept.rewind()
}

// acknowledged takes in what has arrived.
func (q *pipe) acknowledged(m wire.PublishAck) {
	q.mu.Lock()
	defer q.unlock()
	if m.Pipe != q.id {
		return
	}
	q.kept.ack(m.Number)
	if q.kept.waiting() {
		q.flush()
	}
}

// end lets go of the link.
func (q *pipe) end() {
	q.mu.Lock()
	q.over.Store(true)
	release := q.release
	q.release = nil
	q.kept.clear()
	q.stop()
	q.unlockAndWake()
	if release != nil {
		release()
	}
}

// unconfirmed is how many frames the peer has not acknowledged.
func (q *pipe) unconfirmed() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.unconfirmed()
}

// lossCount is what send returns beside its verdict.
func (q *pipe) lossCount() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.losses
}

func verdictOf(err error) verdict {
	switch {
	case err == nil:
		return sent
	case errors.Is(err, overlay.ErrLaneFull):
		return full
	}
	return lost
}
