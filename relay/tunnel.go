// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"io"
	"sync"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// tunnel joins a tunnel of the node with one of a session. It holds at most
// the credit that the client has from it, and one chunk on the way to the
// client, which the node counts still.
type tunnel struct {
	session.Place

	// Immutable after tunnels.add.
	all    *tunnels
	id     uint64
	source patterns.TunnelSource

	// Guarded by mu. It is held while the source is asked, which does not
	// block.
	mu        sync.Mutex
	announced bool // the client knows of it
	over      bool

	// From the client to the node.
	intake  intake
	pending fifo.Queue[piece] // came, and the node has not taken them yet; bounded by the intake
	ending  ending            // what the client has said behind them
	passed  bool              // the node knows that, too

	// From the node to the client.
	credit int   // the client's
	unread int   // bytes that it has not read
	next   piece // taken from the node, if there is one
	taken  bool
	ended  bool // the client knows that nothing more comes
}

// piece is a chunk, or what is left of it.
type piece struct {
	data []byte
	last bool
	torn bool // it is what is left
}

// ending is how far the client has ended a tunnel.
type ending uint8

const (
	endingNone   ending = iota
	endingSend          // it sends no more
	endingClosed        // nor does it read
)

var _ session.Channel = (*tunnel)(nil)

// announce lets the tunnel speak: the frame that begins it is queued.
func (t *tunnel) announce() {
	t.mu.Lock()
	t.announced = true
	t.mu.Unlock()
	t.all.rota.Ready(t)
}

// Next implements session.Channel: what the client is to be told next.
func (t *tunnel) Next() session.Frame {
	t.all.recycleCopied()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.announced || t.over {
		return nil
	}
	if err := t.broken(); err != nil {
		return t.reset(err)
	}
	t.passOn()
	if due := t.intake.due; due > 0 {
		t.intake.due = 0
		t.all.credit = session.TunnelCredit{ID: t.id, Credit: uint32(due)}
		return &t.all.credit
	}
	return t.outgoing()
}

// broken says how the tunnel ended, if not in good order.
func (t *tunnel) broken() error {
	if t.sourceOver() {
		return t.source.Err()
	}
	return nil
}

// sourceOver says that both directions have ended at the node.
func (t *tunnel) sourceOver() bool {
	select {
	case <-t.source.Done():
		return true
	default:
		return false
	}
}

// outgoing returns the next chunk or the end of this direction.
func (t *tunnel) outgoing() session.Frame {
	switch {
	case t.ended && t.sourceOver() && !t.passed:
		return t.end() // the other side does not read any more, either
	case t.ended:
		return nil
	case t.ending == endingClosed && t.passed:
		return t.lastWord()
	}
	if !t.taken {
		data, last, more, err := t.source.Take()
		switch {
		case err == io.EOF:
			return t.end()
		case err != nil:
			return t.reset(err)
		case !more:
			return nil
		}
		t.next, t.taken = piece{data: data, last: last}, true
	}
	n := len(t.next.data)
	if session.ChunkCost(n) > t.credit {
		n = t.credit // as much as there is credit for, which is less than all
	}
	if session.ChunkCost(n) > t.credit {
		return nil // TunnelCredit makes it ready again
	}
	return t.cut(n)
}

// cut returns the first n bytes of next.
func (t *tunnel) cut(n int) session.Frame {
	whole := n == len(t.next.data)
	t.all.data = session.TunnelData{ID: t.id, Last: whole && t.next.last, Chunk: t.next.data[:n]}
	t.credit -= session.ChunkCost(n)
	t.unread += n
	if whole {
		t.all.goes(goneChunk{t.source, t.next.data}, t.next.torn)
		t.next, t.taken = piece{}, false
	} else {
		t.next.data, t.next.torn = t.next.data[n:], true
	}
	return &t.all.data
}

// lastWord is for a client that does not read any more.
func (t *tunnel) lastWord() session.Frame {
	if t.taken {
		t.source.Return(len(t.next.data))
		t.next, t.taken = piece{}, false
	}
	if t.sourceOver() {
		return t.end()
	}
	return nil
}

// end tells the client that nothing more comes and, if nobody will read what it
// sends, that all is over.
func (t *tunnel) end() session.Frame {
	t.ended = true
	closed := !t.passed && t.sourceOver()
	if closed {
		t.forget()
	} else {
		t.finish()
	}
	return &session.TunnelEnd{ID: t.id, Closed: closed}
}

// finish forgets the tunnel if both directions have ended.
func (t *tunnel) finish() {
	if t.ended && t.passed {
		t.forget()
	}
}

// reset tells the client how the tunnel ended. What the node holds of it is
// dropped.
func (t *tunnel) reset(err error) session.Frame {
	t.forget()
	t.source.Close()
	return &session.TunnelReset{ID: t.id, Failure: failure.OfTunnel(err)}
}

// forget ends the relay's part. The caller holds mu.
func (t *tunnel) forget() {
	if t.over {
		return
	}
	t.over = true
	t.pending.Clear()
	t.next = piece{}
	t.all.remove(t)
}

// abandon ends a tunnel whose client is gone.
func (t *tunnel) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.forget()
	if t.source != nil {
		interrupt(t.source)
	}
}

// interrupt lets the other side see that the way to this one is lost.
func interrupt(t patterns.Tunnel) {
	if i, ok := t.(interface{ Interrupt() }); ok {
		i.Interrupt()
		return
	}
	t.Reset(patterns.CodeUnknown, "the program at the other side's relay is gone")
}

// handleCredit takes what the client has read.
func (t *tunnel) handleCredit(f *session.TunnelCredit) (violation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	read := int(f.Read)
	switch {
	case t.over:
		return ""
	case t.source == nil:
		return notOpen
	case read > t.unread:
		return "more was read of a tunnel than came"
	}
	t.unread -= read
	t.credit = min(t.credit+int(f.Credit), maxCredit)
	if read > 0 {
		t.source.Return(read)
	}
	if t.taken {
		t.all.rota.Ready(t)
	}
	return ""
}

// maxCredit is more than any client means.
const maxCredit = 1 << 31

// notOpen is how a client breaks the protocol that can't wait for a reply.
const notOpen = "the tunnel is not open yet"

// handleReset ends both directions for the client.
func (t *tunnel) handleReset(f *session.TunnelReset) (violation string) {
	code, text := patterns.Code(f.Code), f.Text
	switch f.Outcome {
	case session.OutcomeRemoteError:
	case session.OutcomeOverloaded:
		code, text = patterns.CodeUnknown, patterns.ErrOverloaded.Error()
	case session.OutcomeClosed:
		code, text = patterns.CodeUnknown, patterns.ErrClosed.Error()
	default:
		return "a client does not reset a tunnel with " + f.Outcome.String()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return ""
	case t.source == nil:
		return notOpen
	}
	t.forget()
	t.source.Reset(code, text)
	return ""
}
