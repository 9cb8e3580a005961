// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
)

// Conduit takes frames to one other side: a node's link, or the session of a
// client. Methods may be called concurrently and do not block.
type Conduit interface {
	// Send queues a frame of which it copies parts. overlay.ErrLaneFull: there is
	// no room now, or somebody stands in line; other errors: there never will be.
	Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) error
	// SendLater has a frame stand in line for room, first come, first served, and
	// calls sent once when it is queued, or never will be. parts must not change
	// before. With an error sent is not called.
	SendLater(lane overlay.Lane, k wire.Kind, sent func(err error), parts ...[]byte) error
}

// linkConduit is a node's link.
type linkConduit struct {
	link   request.Link
	atOnce context.Context //nolint:containedctx // has ended: who sends with it does not wait
}

// Send implements Conduit. What finds no room is not lost, so it is no drop.
func (c linkConduit) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) error {
	_, err := c.link.SendWait(c.atOnce, lane, k, parts...)
	if errors.Is(err, context.Canceled) {
		return overlay.ErrLaneFull
	}
	return err
}

// SendLater implements Conduit.
func (c linkConduit) SendLater(lane overlay.Lane, k wire.Kind, sent func(err error), parts ...[]byte) error {
	_, err := c.link.SendLater(lane, k, func(_ overlay.Receipt, err error) { sent(err) }, parts...)
	return err
}

// remote is what the engine keeps for one other side as long as there is a tunnel
// to or from it: a peer, or a client that is attached here.
type remote struct {
	// Immutable.
	id      peer.ID      // of a peer
	text    string       // id, as programs see it
	link    request.Link // nil if it is a client
	conduit Conduit
	recycle func(chunk []byte)                            // takes memory that nobody looks at any more
	extend  func(r overlay.Receipt, parts ...[]byte) bool // adds to a frame; nil = that can't be done
	lender  lender                                        // nil = what is sent is copied

	inLine atomic.Int64 // bytes that stand in line for room in its lanes

	// Guarded by the table's mu.
	opened  map[uint64]endpoint // from here, by id
	served  map[uint64]endpoint // from there, by id
	joining int                 // that get what came early

	holding sync.Mutex
	release func() // guarded by holding; not nil while the link is held
	dropped bool   // guarded by holding; it will not be used any more
}

func newRemote(c Conduit, recycle func([]byte)) *remote {
	if recycle == nil {
		recycle = func([]byte) {}
	}
	r := &remote{conduit: c, recycle: recycle, opened: make(map[uint64]endpoint), served: make(map[uint64]endpoint)}
	r.lender, _ = c.(lender)
	return r
}

// recycler is a link that reads into the memory of chunks again.
type recycler interface{ Recycle(chunk []byte) }

// gatherer is a link that can add to a frame which it has not taken.
type gatherer interface {
	Extend(r overlay.Receipt, parts ...[]byte) bool
}

// lender is a Conduit, or a link, that can send a chunk without a copy: session.Lend
// says how.
type lender interface {
	Lend(k wire.Kind, back func(chunk []byte), parts ...[]byte) (kept bool, err error)
	LendLater(k wire.Kind, sent func(err error), back func(chunk []byte), parts ...[]byte) error
}

func newPeer(l request.Link, atOnce context.Context) *remote {
	var recycle func([]byte)
	if l, ok := l.(recycler); ok {
		recycle = l.Recycle
	}
	r := newRemote(linkConduit{l, atOnce}, recycle)
	if l, ok := l.(gatherer); ok {
		r.extend = l.Extend
	}
	r.lender, _ = l.(lender)
	r.link, r.id, r.text = l, l.Peer(), l.Peer().String()
	return r
}

// tunnels is where the tunnels are that this side, or the other one, opened.
func (r *remote) tunnels(flags uint8) map[uint64]endpoint {
	if flags&wire.FlagOpener != 0 {
		return r.opened
	}
	return r.served
}

// unused says whether nothing is kept for it any more.
func (r *remote) unused() bool { return len(r.opened)+len(r.served)+r.joining == 0 }

// room says whether n bytes may stand in line, of who can't wait for room; a
// message that is longer may if nothing else does.
func (r *remote) room(n int) bool {
	in := int(r.inLine.Load())
	return in == 0 || in+n <= lineBytes
}

// say sends a frame, now if there is room.
func (r *remote) say(lane overlay.Lane, k wire.Kind, parts ...[]byte) {
	if err := r.conduit.Send(lane, k, parts...); errors.Is(err, overlay.ErrLaneFull) {
		r.later(lane, k, func(error) {}, bytes.Join(parts, nil))
	}
}

// pass is Send on lane bulk of what came on another connection, and says whether the
// last of parts is in use still: then back gets it.
func (r *remote) pass(k wire.Kind, back func(chunk []byte), parts ...[]byte) (kept bool, err error) {
	if r.lender == nil || back == nil {
		return false, r.conduit.Send(overlay.LaneBulk, k, parts...)
	}
	return r.lender.Lend(k, back, parts...)
}

// passLater is pass of what stands in line; sent is called once it has left, or can't.
func (r *remote) passLater(k wire.Kind, sent func(error), back func(chunk []byte), parts ...[]byte) {
	if r.lender == nil || back == nil {
		r.later(overlay.LaneBulk, k, func(err error) {
			if back != nil {
				back(parts[len(parts)-1])
			}
			sent(err)
		}, parts...)
		return
	}
	done := r.inLineFor(parts, sent)
	if err := r.lender.LendLater(k, done, back, parts...); err != nil {
		done(err)
	}
}

// later has a frame stand in line; sent is called once it has left, or can't.
func (r *remote) later(lane overlay.Lane, k wire.Kind, sent func(error), parts ...[]byte) {
	done := r.inLineFor(parts, sent)
	if err := r.conduit.SendLater(lane, k, done, parts...); err != nil {
		done(err)
	}
}

// inLineFor counts what stands in line until what it returns is called, as sent is then.
func (r *remote) inLineFor(parts [][]byte, sent func(error)) (done func(error)) {
	n := int64(0)
	for _, p := range parts {
		n += int64(len(p))
	}
	r.inLine.Add(n)
	return func(err error) {
		r.inLine.Add(-n)
		sent(err)
	}
}

// hold has heartbeats run, so that a peer that hangs is noticed.
func (r *remote) hold() {
	r.holding.Lock()
	held := r.release != nil || r.dropped
	if !held {
		r.release = func() {} // claims it: nothing is called with the mutex held
	}
	r.holding.Unlock()
	if held {
		return
	}
	release := r.link.Hold()
	r.holding.Lock()
	dropped := r.dropped
	r.release = release
	r.holding.Unlock()
	if dropped {
		release()
	}
}

// letGo ends that.
func (r *remote) letGo() {
	r.holding.Lock()
	release := r.release
	r.dropped = true
	r.holding.Unlock()
	if release != nil {
		release()
	}
}
