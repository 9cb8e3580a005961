// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// Send implements patterns.Tunnel.
func (t *tunnel) Send(ctx context.Context, body []byte) error {
	if err := t.beginSend(ctx); err != nil {
		return err
	}
	defer t.endSend()
	return t.sendAll(ctx, body, true, false)
}

// SendPart sends as much of body as there is credit for, at most one chunk, as a
// message of its own, and returns how many bytes that were. It waits while there
// is no credit. It is for streams of bytes, whose deadlines must break nothing
// off.
func (t *tunnel) SendPart(ctx context.Context, body []byte) (int, error) {
	if err := t.beginSend(ctx); err != nil {
		return 0, err
	}
	defer t.endSend()
	n, err := t.reserve(ctx, len(body), true)
	if err == nil {
		err = t.put(t.copied(body[:n], true))
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// sendAll sends body, which ends its message if whole. begun says that a part
// of that was sent before.
func (t *tunnel) sendAll(ctx context.Context, body []byte, whole, begun bool) error {
	for {
		n, err := t.reserve(ctx, len(body), whole)
		if err != nil {
			return t.notSent(err, begun)
		}
		// A copy outside the lock: the session's reader must not wait for it.
		p := t.copied(body[:n], whole && n == len(body))
		if err := t.put(p); err != nil {
			return err
		}
		if body = body[n:]; len(body) == 0 {
			return nil
		}
		begun = true
	}
}

// copied makes a piece of what belongs to the caller.
func (t *tunnel) copied(body []byte, last bool) piece {
	data, in := t.attachment.slabs.take(len(body))
	copy(data, body)
	return piece{data, last, in}
}

// notSent is how a send ends that ran out of time. Of a message of which a part
// was sent the other side must not wait for the rest.
func (t *tunnel) notSent(err error, begun bool) error {
	var late *patterns.DeadlineError
	if !begun || !errors.As(err, &late) {
		return err
	}
	t.Reset(patterns.CodeUnknown, "the sender gave up in the middle of a message")
	return &patterns.DeadlineError{Cause: late.Cause, MaybeRan: true}
}

// beginSend waits for the caller's turn.
func (t *tunnel) beginSend(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if err := t.sendErr(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return &patterns.DeadlineError{Cause: cause(ctx)}
		}
		if !t.sending {
			t.sending = true
			return nil
		}
		if err := t.wait(ctx, &t.sendChange); err != nil {
			return err
		}
	}
}

func (t *tunnel) endSend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sending = false
	notify(&t.sendChange)
	if t.endDue() {
		t.ready()
	}
}

// goOnErr says why a message under way can't go on: it does after a CloseSend,
// which waits for it. The caller holds mu.
func (t *tunnel) goOnErr() error {
	if t.err == nil && t.ending == endingSend && t.told == endingNone {
		return nil
	}
	return t.sendErr()
}

// sendErr says why nothing can be sent. The caller holds mu.
func (t *tunnel) sendErr() error {
	switch {
	case t.err != nil:
		return t.err
	case t.ending != endingNone:
		return patterns.ErrClosed
	}
	return nil
}

// reserve waits for credit for the next chunk, of at most size bytes, and
// returns how many they are. Only a last chunk may be empty.
func (t *tunnel) reserve(ctx context.Context, size int, whole bool) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if err := t.goOnErr(); err != nil {
			return 0, err
		}
		n := min(size, session.MaxChunk, t.credit)
		if cost := session.ChunkCost(n); cost <= t.credit && (n > 0 || whole) {
			t.credit -= cost
			return n, nil
		}
		if err := t.wait(ctx, &t.sendChange); err != nil {
			return 0, err
		}
	}
}

// put gives a chunk that has its credit to the writer.
func (t *tunnel) put(p piece) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.goOnErr(); err != nil {
		return err
	}
	t.out.Push(p)
	t.ready()
	return nil
}

// TrySend implements patterns.Tunnel.
func (t *tunnel) TrySend(body []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sendErr(); err != nil {
		return err
	}
	rest := len(body) % session.MaxChunk
	cost := len(body) - rest
	if rest > 0 || cost == 0 {
		cost += session.ChunkCost(rest)
	}
	if t.sending || cost > t.credit {
		return patterns.ErrWouldBlock
	}
	t.credit -= cost
	for len(body) > session.MaxChunk {
		t.out.Push(t.copied(body[:session.MaxChunk], false))
		body = body[session.MaxChunk:]
	}
	t.out.Push(t.copied(body, true))
	t.ready()
	return nil
}

// SendFrom implements patterns.Tunnel.
func (t *tunnel) SendFrom(ctx context.Context, r io.Reader) (int64, error) {
	if err := t.beginSend(ctx); err != nil {
		return 0, err
	}
	defer t.endSend()
	var sent int64
	buffer := make([]byte, session.MaxChunk)
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			if err := t.sendAll(ctx, buffer[:n], false, sent > 0); err != nil {
				return sent, err
			}
			sent += int64(n)
		}
		switch {
		case err == io.EOF:
			return sent, t.sendAll(ctx, nil, true, sent > 0)
		case err != nil:
			t.Reset(patterns.CodeUnknown, "the sender could not read on: "+err.Error())
			return sent, err
		}
	}
}

// handleCredit takes credit from the relay.
func (t *tunnel) handleCredit(f *session.TunnelCredit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.credit += int(f.Credit)
	notify(&t.sendChange)
}
