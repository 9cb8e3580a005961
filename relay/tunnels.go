// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// tunnels are those of one client. No goroutine is theirs: the reader of the
// session hands chunks to the node, the writer takes them from it.
type tunnels struct {
	// Immutable after newTunnels.
	client *client
	rota   *session.Rota

	// Immutable once the session runs. reuse takes the memory of a chunk that came
	// from the client.
	reuse func(chunk []byte)

	// Owned by the reader; used up before the next frame is read.
	came session.TunnelData

	// Owned by the writer; frames are used up before the next one is made.
	data   session.TunnelData
	credit session.TunnelCredit
	gone   []goneChunk // that the sender was given since it has written all
	copied goneChunk   // the last short one: the sender has a copy when it asks for more

	// Guarded by mu.
	mu        sync.Mutex
	allowance allowance
	byID      map[uint64]*tunnel
	lastID    uint64
	refused   error         // why there are no new ones; nil = there are
	idle      chan struct{} // closed when there are no new ones and none is left
}

// goneChunk is a chunk on its way to the client. The bytes of a long one are its
// source's again when they are written.
type goneChunk struct {
	source patterns.TunnelSource
	data   []byte
}

func newTunnels(c *client) *tunnels {
	ts := &tunnels{
		client:    c,
		rota:      c.rota,
		reuse:     func([]byte) {},
		allowance: newAllowance(c.relay.cfg.Limits),
		byID:      map[uint64]*tunnel{},
		idle:      make(chan struct{}),
	}
	c.rota.OnWritten(ts.written)
	return ts
}

// decode decodes a frame from the client. That of a chunk is used up when the
// next one is read.
func (ts *tunnels) decode(k session.Kind, body []byte) (session.Frame, error) {
	if k == session.KindTunnelData {
		return &ts.came, ts.came.Decode(body)
	}
	return session.Decode(k, body)
}

// written gives back the bytes of the chunks that have left.
func (ts *tunnels) written() {
	ts.recycleCopied()
	for _, g := range ts.gone {
		g.source.Recycle(g.data)
	}
	clear(ts.gone)
	ts.gone = ts.gone[:0]
}

// goes notes that the sender gets the last of a chunk. What is left of a torn one
// may be a small part of a large buffer, which it would keep alive.
func (ts *tunnels) goes(g goneChunk, torn bool) {
	switch {
	case cap(g.data) >= session.CopiedBelow:
		ts.gone = append(ts.gone, g)
	case !torn:
		ts.copied = g
	}
}

// recycleCopied gives back the bytes of the last short chunk.
func (ts *tunnels) recycleCopied() {
	if ts.copied.source != nil {
		ts.copied.source.Recycle(ts.copied.data)
		ts.copied = goneChunk{}
	}
}

// add takes a place for a tunnel; id 0 asks for one of the relay's. It has no
// tunnel of the node yet (see join), and is mute until it is announced.
func (ts *tunnels) add(id uint64) (*tunnel, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.refused != nil {
		return nil, ts.refused
	}
	window, err := ts.allowance.take()
	if err != nil {
		return nil, err
	}
	if id == 0 {
		ts.lastID++
		id = ts.lastID | session.RelayTunnels
	}
	t := &tunnel{all: ts, id: id, intake: intake{given: window, window: window}}
	ts.byID[id] = t
	return t, nil
}

// remove forgets a tunnel that is over. The caller holds t.mu.
func (ts *tunnels) remove(t *tunnel) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.byID, t.id)
	ts.allowance.giveBack(t.intake.has())
	ts.settle()
}

// settle tells that none is left. The caller holds mu.
func (ts *tunnels) settle() {
	if ts.refused == nil || len(ts.byID) > 0 {
		return
	}
	select {
	case <-ts.idle:
	default:
		close(ts.idle)
	}
}

// find returns the tunnel; nil if it is over or was never there.
func (ts *tunnels) find(id uint64) *tunnel {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byID[id]
}

// known says whether a call may not have that id.
func (ts *tunnels) known(id uint64) bool { return ts.find(id) != nil }

// refuse takes no new tunnels from now on.
func (ts *tunnels) refuse(why error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.refused == nil {
		ts.refused = why
	}
	ts.settle()
}

// end interrupts all tunnels, for their client is gone.
func (ts *tunnels) end() {
	ts.refuse(errGone)
	ts.mu.Lock()
	left := make([]*tunnel, 0, len(ts.byID))
	for _, t := range ts.byID {
		left = append(left, t)
	}
	ts.mu.Unlock()
	for _, t := range left {
		t.abandon()
	}
}

// count returns how many there are, and their credit in bytes.
func (ts *tunnels) count() (n, bytes int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.byID), ts.allowance.lent + ts.allowance.open*ts.allowance.sure
}
