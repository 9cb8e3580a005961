// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
)

// leftError marks the end of a stream by the peer's goodbye.
type leftError struct{ cause error }

func (e *leftError) Error() string { return e.cause.Error() }
func (e *leftError) Unwrap() error { return e.cause }

// read hands on what arrives until the stream is over. It returns nil if the
// peer ended its direction as agreed.
func (st *stream) read() error {
	if err := st.begin(); err != nil {
		return err
	}
	parted := false // the peer uses another stream from here on
	for {
		k, body, err := st.frames.Next()
		if err != nil {
			return st.ending(err, parted)
		}
		if k == wire.KindGoodbye {
			if parted, err = st.goodbye(body); err != nil {
				return err
			}
			continue
		}
		kept, err := st.l.dispatch(k, body)
		if err != nil {
			return err
		}
		if !kept {
			st.frames.Recycle(body)
		}
	}
}

// begin waits until frames of this stream may be handed on: when its session
// stands, and when everything that the peer sent before on a stream that this
// one replaces has been.
func (st *stream) begin() error {
	if err := st.waitFor(st.ready); err != nil {
		return err
	}
	for {
		earlier := st.l.before(st)
		if earlier == nil {
			return nil
		}
		if err := st.waitFor(earlier); err != nil {
			return err
		}
	}
}

func (st *stream) waitFor(c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-st.dead:
		return ErrLost
	case <-st.l.o.ctx.Done():
		return ErrClosed
	}
}

// before returns what st has to wait for before it hands on its first frame,
// nil if nothing. Only a stream that wins over others waits. The others are
// those that have joined, and one that we opened and that the peer may have
// joined already, though its Hello is still on its way here. The peer ends
// them before it sends anything on st; see choose.
func (l *Link) before(st *stream) <-chan struct{} {
	l.mu.Lock()
	defer l.unlock()
	if !preferred(l.lower, st.outbound) {
		return nil
	}
	if l.greeting != nil && !st.outbound {
		return l.greeting
	}
	for _, other := range l.streams {
		if other != st && other.readable() {
			return other.drained
		}
	}
	return nil
}

// goodbye handles the last frame of the peer's direction. parted means that
// the stream ends but not the session.
func (st *stream) goodbye(body []byte) (parted bool, err error) {
	var m wire.Goodbye
	if err := wire.DecodeControl(body, &m); err != nil {
		return false, fmt.Errorf("%w: goodbye: %w", ErrProtocol, err)
	}
	if m.GetCode() == codeSuperseded {
		return true, nil
	}
	return false, &leftError{goodbyeError(&m)}
}

// ending says what the end of the byte stream means.
func (st *stream) ending(err error, parted bool) error {
	switch {
	case errors.Is(err, wire.ErrMalformed), errors.Is(err, wire.ErrFrameTooLarge):
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	case err == io.EOF && (parted || st.l.saidGoodbye(st)):
		return nil
	case err == io.EOF:
		return fmt.Errorf("%w: the peer ended the stream", ErrLost)
	}
	return fmt.Errorf("%w: read: %w", ErrLost, err)
}

// saidGoodbye says whether this node ends the session with st's goodbye, so that
// the end of the peer's direction is the answer.
func (l *Link) saidGoodbye(st *stream) bool {
	l.mu.Lock()
	defer l.unlock()
	return st.farewell != nil && st.farewell.flush
}

// dispatch handles one frame, and says whether somebody keeps its body. An
// error ends the session.
func (l *Link) dispatch(k wire.Kind, body []byte) (kept bool, err error) {
	switch k {
	case wire.KindHello:
		return false, fmt.Errorf("%w: second hello", ErrProtocol)
	case wire.KindBeat:
		return true, l.handleBeat(body)
	case wire.KindNotice:
		return true, l.handleNotice(body)
	case wire.KindFragment:
		return l.handleFragment(body)
	}
	return l.handle(k, body), nil
}

// handle gives a frame or a whole message to whoever wants its kind.
func (l *Link) handle(k wire.Kind, body []byte) (kept bool) {
	if h := l.o.handlers[k]; h != nil {
		return h(l, body)
	}
	l.o.drops.add(dropUnknownKind, 1)
	return false
}

// handleFragment keeps only what is a message by itself: the rest is copied.
func (l *Link) handleFragment(body []byte) (kept bool, err error) {
	f, err := wire.DecodeFragment(body)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	k, whole, drop := l.reassemble(f)
	l.o.drops.add(drop, 1)
	switch k {
	case 0:
		return false, nil
	case wire.KindHello, wire.KindBeat, wire.KindGoodbye, wire.KindNotice:
		return false, fmt.Errorf("%w: kind %d in fragments", ErrProtocol, k)
	}
	kept = l.handle(k, whole)
	return kept && f.First, nil
}

func (l *Link) reassemble(f wire.Fragment) (wire.Kind, []byte, dropReason) {
	l.mu.Lock()
	sess := l.sess
	l.mu.Unlock()
	if sess == nil {
		return 0, nil, dropFragmentOrphan
	}
	sess.partsMu.Lock()
	defer sess.partsMu.Unlock()
	return sess.parts.add(f)
}

func (l *Link) handleNotice(body []byte) error {
	var m wire.Notice
	if err := wire.DecodeControl(body, &m); err != nil {
		return fmt.Errorf("%w: notice: %w", ErrProtocol, err)
	}
	l.logNotice(&m)
	return nil
}

func (l *Link) logNotice(m *wire.Notice) {
	if !l.mayLog() {
		return
	}
	log := l.o.log.With(zap.Stringer("peer", l.peer), zap.String("detail", m.GetDetail()))
	if m.GetTopic() == wire.Notice_DUPLICATE_PEER_ID {
		log.Error("another live node uses this node's peer id: was the data directory copied?")
		return
	}
	log.Warn("peer sent a notice of unknown topic")
}

// resetCode is what the peer is told when reading failed with err.
func resetCode(err error) uint32 {
	if errors.Is(err, ErrProtocol) {
		return codeProtocol
	}
	return codeBroken
}
