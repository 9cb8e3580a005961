// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// tunnel is one that the program has through its relay. The session's reader
// puts in what comes, its writer takes out what goes; neither waits for it.
type tunnel struct {
	session.Place

	// Immutable after newTunnel, or before the program has it.
	attachment *attachment
	id         uint64
	info       patterns.TunnelInfo
	limit      int // of a message that Receive returns, bytes
	done       chan struct{}
	onOver     func() // called once, when it is over; must not block

	// Guarded by mu.
	mu    sync.Mutex
	err   error // why it ended, if not in good order
	over  bool
	reset *session.TunnelReset // the relay is to be told

	// Sending.
	credit     int
	out        fifo.Queue[piece] // the writer has not taken them yet; bounded by credit
	sending    bool              // somebody's turn
	ending     ending            // what the program said behind them
	told       ending            // what of it the relay knows
	sendChange chan struct{}

	// Receiving.
	inlet     inlet
	in        fifo.Queue[piece] // came, and were not received yet; bounded by the inlet
	part      [][]byte
	partSize  int  // of part: the beginning of a message that is not whole
	receiving bool // somebody's turn
	ended     bool // nothing more comes
	inChange  chan struct{}
}

// piece is a chunk.
type piece struct {
	data []byte
	last bool
	slab *slab // that data is in; nil if it came
}

// ending is how far the program has ended a tunnel.
type ending uint8

const (
	endingNone   ending = iota
	endingSend          // it sends no more
	endingClosed        // nor does it receive
)

var (
	_ patterns.Tunnel = (*tunnel)(nil)
	_ session.Channel = (*tunnel)(nil)
)

// newTunnel makes a tunnel of this session; nil if that is over.
func (a *attachment) newTunnel(id uint64, credit uint32, limit int) *tunnel {
	t := &tunnel{
		attachment: a,
		id:         id,
		limit:      limit,
		done:       make(chan struct{}),
		onOver:     a.client.end,
		credit:     int(credit),
		inlet:      newInlet(),
	}
	a.client.hold()
	if !a.addTunnel(t) {
		a.client.end()
		return nil
	}
	return t
}

// Info implements patterns.Tunnel.
func (t *tunnel) Info() patterns.TunnelInfo { return t.info }

// Done implements patterns.Tunnel.
func (t *tunnel) Done() <-chan struct{} { return t.done }

// Err implements patterns.Tunnel.
func (t *tunnel) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Next implements session.Channel: what the relay is to be told next.
func (t *tunnel) Next() session.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := &t.attachment.frames
	if f := t.reset; f != nil {
		t.reset = nil
		return f
	}
	if t.over {
		return nil
	}
	if credit, read := t.inlet.take(); credit > 0 {
		frames.credit = session.TunnelCredit{ID: t.id, Credit: uint32(credit), Read: uint32(read)}
		return &frames.credit
	}
	if t.out.Len() > 0 {
		p := t.out.Pop()
		frames.sent = append(frames.sent, p.slab)
		frames.data = session.TunnelData{ID: t.id, Last: p.last, Chunk: p.data}
		return &frames.data
	}
	if t.endDue() {
		t.told = t.ending
		t.settle()
		return &session.TunnelEnd{ID: t.id, Closed: t.told == endingClosed}
	}
	return nil
}

// endDue says whether the relay is to be told of the end. That of this direction
// waits for the message under way. The caller holds mu.
func (t *tunnel) endDue() bool {
	return t.told < t.ending && (!t.sending || t.ending == endingClosed)
}

// ready tells the writer that Next has something. It may be called with mu
// held.
func (t *tunnel) ready() { t.attachment.rota.Ready(t) }

// settle notices that both directions have ended. The caller holds mu.
func (t *tunnel) settle() {
	if t.over || t.err == nil && (t.told == endingNone || !t.ended) {
		return
	}
	t.over = true
	t.out.Clear()
	t.attachment.forgetTunnel(t.id)
	notify(&t.sendChange)
	notify(&t.inChange)
	close(t.done)
	t.onOver()
}

// fail ends both directions. What came before a lost relay can be received
// still; what came before a reset is dropped.
func (t *tunnel) fail(err error, drop bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failLocked(err, drop)
}

func (t *tunnel) failLocked(err error, drop bool) {
	if t.over {
		return
	}
	t.err = err
	if drop {
		t.in.Clear()
		t.part, t.partSize, t.ended = nil, 0, false
	}
	t.settle()
}

// Reset implements patterns.Tunnel.
func (t *tunnel) Reset(code patterns.Code, text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resetLocked(code, text)
	return nil
}

func (t *tunnel) resetLocked(code patterns.Code, text string) {
	if t.over {
		return
	}
	t.reset = &session.TunnelReset{ID: t.id, Failure: session.Failure{
		Outcome: session.OutcomeRemoteError, Code: uint32(code), Text: text,
	}}
	t.failLocked(patterns.ErrClosed, true)
	t.ready()
}

// CloseSend implements patterns.Tunnel.
func (t *tunnel) CloseSend() error { return t.finish(endingSend) }

// Close implements patterns.Tunnel.
func (t *tunnel) Close() error {
	t.finish(endingClosed) // how it ended before is told by Err
	return nil
}

// finish ends what the program does with the tunnel so far.
func (t *tunnel) finish(e ending) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e == endingClosed {
		t.dropIn()
	}
	if t.over {
		return t.err
	}
	t.ending = max(t.ending, e)
	notify(&t.sendChange)
	notify(&t.inChange)
	t.ready()
	return nil
}

// notify wakes who waits for a change.
func notify(change *chan struct{}) {
	if *change != nil {
		close(*change)
		*change = nil
	}
}

// wait releases mu until something changes or ctx ends.
func (t *tunnel) wait(ctx context.Context, change *chan struct{}) error {
	if *change == nil {
		*change = make(chan struct{})
	}
	changed := *change
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return &patterns.DeadlineError{Cause: cause(ctx)}
	}
}
