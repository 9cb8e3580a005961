// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

const (
	// queueBytes bounds what waits for the relay to read; calls wait for room.
	queueBytes = 8 << 20
	// writeTime is how long the relay may leave us waiting in one write.
	writeTime = 30 * time.Second
	// linger is how long a connection is read that can't be written any more.
	linger = time.Second
)

// attachment is the client's side of one session. Its reader runs run; writer
// and watchdog are of wg. Handlers are not: they belong to the client, so that
// a slow one does not keep it from re-attaching.
type attachment struct {
	// Immutable after newAttachment.
	client  *Client
	conn    net.Conn
	reader  *session.Reader
	sender  *session.Sender
	welcome *session.Welcome
	rota    *session.Rota // of tunnels
	heard   atomic.Bool   // something came since the last look

	// Lifecycle.
	ctx    context.Context // ends with the session, its cause says why
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	silent chan struct{} // closed when nothing is written any more

	slabs  slabs
	frames tunnelFrames       // owned by the writer
	came   session.TunnelData // owned by the reader

	// Guarded by mu.
	mu          sync.Mutex
	over        error // how a call without a reply ends; nil = the session lives
	lastID      uint64
	calls       map[uint64]chan session.Frame // by id of the call
	regCalls    map[uint64]chan session.Frame // by registration: a Registered or RegisterFailed is due
	unregisters map[uint64]chan session.Frame // by registration: an Unregistered is due
	deliveries  map[uint64]context.CancelFunc
	surveys     map[uint64]*survey            // by id of the call
	subCalls    map[uint64]chan session.Frame // by subscription: a Subscribed or SubscribeFailed is due
	unsubCalls  map[uint64]chan session.Frame // by subscription: an Unsubscribed is due
	tunnels     map[uint64]*tunnel
}

// Why a session ended.
var (
	errClosing    = errors.New("client: closed")
	errDrained    = errors.New("client: the relay was shut down")
	errSilent     = errors.New("client: the relay does not answer")
	errRelayError = errors.New("client: the relay ended the session")
)

func newAttachment(c *Client, conn net.Conn, reader *session.Reader, welcome *session.Welcome) *attachment {
	a := &attachment{
		client:      c,
		conn:        conn,
		reader:      reader,
		sender:      session.NewSender(queueBytes, int(welcome.Limits.Frame)),
		welcome:     welcome,
		silent:      make(chan struct{}),
		calls:       map[uint64]chan session.Frame{},
		regCalls:    map[uint64]chan session.Frame{},
		unregisters: map[uint64]chan session.Frame{},
		deliveries:  map[uint64]context.CancelFunc{},
		surveys:     map[uint64]*survey{},
		subCalls:    map[uint64]chan session.Frame{},
		unsubCalls:  map[uint64]chan session.Frame{},
		tunnels:     map[uint64]*tunnel{},
	}
	a.rota = session.NewRota(a.sender)
	a.rota.OnWritten(a.written)
	a.ctx, a.cancel = context.WithCancelCause(c.ctx)
	return a
}

// run reads until the session ends, and says why it did.
func (a *attachment) run() error {
	a.wg.Go(a.write)
	a.wg.Go(a.watch)
	a.wg.Go(a.registerAgain)
	a.end(a.read())
	a.wg.Wait()
	a.client.out.detach(a)
	return context.Cause(a.ctx)
}

// end ends the session at once; the first cause counts.
func (a *attachment) end(cause error) {
	a.mu.Lock()
	switch {
	case errors.Is(cause, errDrained):
		a.over = errGoodbye
	case a.over == nil:
		a.over = errLost
	}
	a.mu.Unlock()
	a.cancel(cause)
	a.sender.Close()
	a.conn.Close()
	a.endTunnels()
}

// write feeds the connection. If that fails, the relay is gone, but what it
// said before may still be on the way: the reader has a moment to take it.
func (a *attachment) write() {
	defer close(a.silent)
	if err := a.sender.Run(a.conn, writeTime); err != nil {
		a.mu.Lock()
		if a.over == nil {
			a.over = errLost
		}
		a.mu.Unlock()
		a.conn.SetReadDeadline(time.Now().Add(linger)) // it is broken for reading, too, then
	}
}

// isOver says that calls are better made on another session.
func (a *attachment) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over != nil
}

// watch asks a relay that says nothing, gives it up at last, and ends the
// session with the client.
func (a *attachment) watch() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var l liveness
	for {
		select {
		case <-ticker.C:
		case <-a.ctx.Done():
			a.end(errClosing)
			return
		}
		ping, dead := l.look(a.heard.Swap(false))
		if ping {
			a.sender.Send(&session.Ping{}) // a full queue is asked enough
		}
		if dead {
			a.end(errSilent)
		}
	}
}

// read handles frames until the connection ends, and says why it did.
func (a *attachment) read() error {
	for {
		k, body, err := a.reader.Next()
		if err != nil {
			return err
		}
		a.heard.Store(true)
		f, err := a.decode(k, body)
		if errors.Is(err, session.ErrUnknownKind) && k.Skippable() {
			continue
		}
		if err == nil {
			err = a.handle(f)
		}
		if err != nil {
			return err
		}
	}
}

func (a *attachment) handle(f session.Frame) error {
	switch f := f.(type) {
	case *session.Reply:
		a.answer(a.calls, f.ID, f)
	case *session.MembersReply:
		a.answer(a.calls, f.ID, f)
	case *session.StatusReply:
		a.answer(a.calls, f.ID, f)
	case *session.Publication:
		return a.receive(f.Subscription, item{p: f, number: f.Number})
	case *session.Gap:
		return a.receive(f.Subscription, item{g: f, number: f.Number})
	case *session.Published:
		return a.client.out.published(a, f)
	case *session.PublishFailed:
		return a.client.out.failed(a, f)
	case *session.SurveyReply:
		return a.surveyReply(f)
	case *session.SurveyEnd:
		a.answer(a.calls, f.ID, f)
	case *session.BroadcastReply:
		a.answer(a.calls, f.ID, f)
	case *session.Subscribed:
		a.subscribed(f)
		a.answer(a.subCalls, f.ID, f)
	case *session.SubscribeFailed:
		a.answer(a.subCalls, f.ID, f)
	case *session.Unsubscribed:
		a.answer(a.unsubCalls, f.ID, f)
	case *session.Registered:
		a.answer(a.regCalls, f.ID, f)
	case *session.RegisterFailed:
		a.answer(a.regCalls, f.ID, f)
	case *session.Unregistered:
		a.answer(a.unregisters, f.ID, f)
	case *session.Deliver:
		a.deliver(f)
	case *session.DeliverCancel:
		a.cancelDelivery(f.ID)
	case *session.TunnelReply, *session.DeliverTunnel, *session.TunnelData, *session.TunnelCredit,
		*session.TunnelEnd, *session.TunnelReset:
		return a.handleTunnel(f)
	case *session.Ping:
		return a.sender.SendReserved(&session.Pong{Token: f.Token})
	case *session.Pong:
	case *session.Drain:
		a.client.log.Info("the relay is shutting down", zap.String("text", f.Text))
	case *session.Goodbye:
		return errDrained
	case *session.Error:
		return fmt.Errorf("%w: %s: %s", errRelayError, f.Reason, f.Text)
	default:
		return fmt.Errorf("client: a relay does not send %s", f.Kind())
	}
	return nil
}

// expect makes a place for the answer of that id. The error says that the
// session is over.
func (a *attachment) expect(m map[uint64]chan session.Frame, id uint64) (<-chan session.Frame, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return nil, errNotSent
	}
	ch := make(chan session.Frame, 1)
	m[id] = ch
	return ch, nil
}

// expectCall is expect for a call, to which it gives an id.
func (a *attachment) expectCall() (id uint64, ch <-chan session.Frame, err error) {
	a.mu.Lock()
	a.lastID++
	id = a.lastID
	a.mu.Unlock()
	ch, err = a.expect(a.calls, id)
	return id, ch, err
}

// forget is for answers that nobody waits for any more.
func (a *attachment) forget(m map[uint64]chan session.Frame, id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(m, id)
}

// answer gives f to whoever expects it, if anybody still does. Who has forgotten
// it finds it in his channel, or does not get it.
func (a *attachment) answer(m map[uint64]chan session.Frame, id uint64, f session.Frame) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ch := m[id]
	if ch == nil {
		return false
	}
	delete(m, id)
	ch <- f // has room for the only one
	return true
}

// await waits for the answer that expect made a place for. The error is
// errLost, errGoodbye, or, if ctx ended, errOver; an answer that is there
// counts more.
func (a *attachment) await(ctx context.Context, ch <-chan session.Frame) (session.Frame, error) {
	var err error
	select {
	case f := <-ch:
		return f, nil
	case <-a.ctx.Done():
		err = a.howOver()
	case <-ctx.Done():
		err = errOver
	}
	select {
	case f := <-ch:
		return f, nil
	default:
		return nil, err
	}
}

// howOver says how calls without a reply end on this session.
func (a *attachment) howOver() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return a.over
	}
	return errLost // the client is closing
}

// awaitEnd waits for the end of a session that drains, as long as for a relay
// that is gone. It returns err then, or why there was no waiting any longer.
func (a *attachment) awaitEnd(ctx context.Context, err error) error {
	timer := time.NewTimer(a.client.cfg.RelayWait)
	defer timer.Stop()
	select {
	case <-a.ctx.Done():
		return err
	case <-ctx.Done():
		return &patterns.DeadlineError{Cause: cause(ctx)}
	case <-timer.C:
		return fmt.Errorf("%w: the relay is shutting down, and has nobody to ask", patterns.ErrUnreachable)
	}
}
