// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// client is the relay's side of one session. Its reader is the goroutine that
// runs run, its writer and its calls are of wg. What the node's goroutines do
// here (see member) is not: the registrations wait for them.
type client struct {
	// Immutable after newClient.
	relay   *Relay
	id      session.ID
	name    string
	log     *zap.Logger
	conn    net.Conn
	sender  *session.Sender
	rota    *session.Rota // of what goes behind all that waits in sender
	tunnels *tunnels
	topics  *topics
	origin  uint64 // tells what this client publishes from what others do
	out     *publisher

	// Lifecycle.
	ctx    context.Context // ends with the session, its cause says why
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	gone   chan struct{} // closed when nothing is left of the session

	// Guarded by mu.
	mu           sync.Mutex
	quota        quota
	replies      quota                         // of its requests only: replies that wait for room
	calls        map[uint64]context.CancelFunc // without a reply
	members      map[uint64]*member            // by registration
	deliveries   map[uint64]chan<- *session.Answer
	lastDelivery uint64
	busy         int           // calls that run; unlike calls, until the reply is queued
	draining     bool          // no new registrations
	stopped      bool          // no new calls
	idle         chan struct{} // closed when stopped and not busy
}

func newClient(r *Relay, conn net.Conn, id session.ID, name string) *client {
	c := &client{
		relay:      r,
		id:         id,
		name:       name,
		log:        r.log.With(zap.String("client", name)),
		conn:       conn,
		sender:     session.NewSender(r.cfg.Limits.QueueBytes, session.MaxFrame),
		gone:       make(chan struct{}),
		quota:      quota{limits: r.cfg.Limits},
		replies:    quota{limits: r.cfg.Limits},
		calls:      map[uint64]context.CancelFunc{},
		members:    map[uint64]*member{},
		deliveries: map[uint64]chan<- *session.Answer{},
		idle:       make(chan struct{}),
	}
	c.rota = session.NewRota(c.sender)
	c.tunnels = newTunnels(c)
	c.topics = newTopics(c)
	c.ctx, c.cancel = context.WithCancelCause(r.ctx)
	return c
}

// run reads until the session ends, and returns when all its work has ended
// and its members are gone.
func (c *client) run(reader *session.Reader) error {
	c.tunnels.reuse = reader.Reuse
	c.wg.Go(c.write)
	c.end(c.read(reader))
	c.out.rest()
	c.tunnels.end()
	c.wg.Wait()
	c.topics.end()
	return context.Cause(c.ctx)
}

// end ends the session at once; the first cause counts. The sender goes first:
// no call may reply that it was cancelled, because the client did not do that.
func (c *client) end(cause error) {
	c.sender.Close()
	c.cancel(cause)
	c.conn.Close()
}

// endSlow ends the session of a client that does not read.
func (c *client) endSlow() {
	if c.ctx.Err() != nil {
		return
	}
	c.relay.count.ended[session.ReasonSlow].Add(1)
	c.log.Warn("client does not read, its session ends", zap.Int("queued", c.sender.Queued()))
	c.end(errSlow)
}

func (c *client) write() {
	err := c.sender.Run(c.conn, c.relay.cfg.Limits.Stall)
	switch {
	case err == nil:
		closeWrite(c.conn)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.endSlow()
	default:
		c.end(fmt.Errorf("%w: %w", errGone, err))
	}
}

// finish has f sent as the last frame and gives the client some time to read
// all; then, or when the client closes the connection, the reader ends the
// session.
func (c *client) finish(f session.Frame, patience time.Duration) {
	switch err := c.sender.SendReserved(f); {
	case errors.Is(err, session.ErrQueueFull):
		c.endSlow()
		return
	case err != nil: // it has had its last frame
		return
	}
	c.sender.Finish()
	c.conn.SetReadDeadline(time.Now().Add(patience)) // the connection is broken then
}

// read handles frames until the connection ends or the client breaks the
// protocol, and says why.
func (c *client) read(reader *session.Reader) error {
	for {
		k, body, err := reader.Next()
		switch {
		case errors.Is(err, session.ErrFrameTooLarge):
			return c.violated(session.ReasonTooLarge, err.Error())
		case errors.Is(err, session.ErrMalformed):
			return c.violated(session.ReasonMalformed, err.Error())
		case err != nil:
			return fmt.Errorf("%w: %w", errGone, err)
		}
		f, err := c.tunnels.decode(k, body)
		switch {
		case errors.Is(err, session.ErrUnknownKind) && k.Skippable():
			c.relay.count.drop(dropUnknownFrame)
			continue
		case errors.Is(err, session.ErrUnknownKind):
			return c.violated(session.ReasonKind, err.Error())
		case err != nil:
			return c.violated(session.ReasonMalformed, err.Error())
		}
		text := ""
		if data, ok := f.(*session.TunnelData); ok {
			var kept bool
			if kept, text = c.handleTunnelData(data); !kept {
				reader.Recycle(body)
			}
		} else {
			text = c.handle(f, len(body))
		}
		if text != "" {
			return c.violated(session.ReasonProtocol, text)
		}
		if reader.Buffered() == 0 {
			c.out.rest()
		}
	}
}

// violated tells the client what it did wrong and returns when it has had time
// to read that.
func (c *client) violated(reason session.Reason, text string) error {
	c.relay.count.ended[reason].Add(1)
	c.log.Debug("client broke the protocol, its session ends", zap.Stringer("reason", reason), zap.String("text", text))
	c.finish(&session.Error{Reason: reason, Text: text}, linger)
	io.Copy(io.Discard, c.conn) // until it is read, or nobody reads
	return errViolated
}

// handle does what f asks for. A text says how f breaks the protocol.
func (c *client) handle(f session.Frame, size int) (violation string) {
	switch f := f.(type) {
	case *session.Request:
		return c.handleRequest(f, size)
	case *session.Answer:
		return c.handleAnswer(f)
	case *session.Cancel:
		c.handleCancel(f)
	case *session.Register:
		return c.handleRegister(f)
	case *session.Unregister:
		c.handleUnregister(f)
	case *session.Publish:
		return c.out.handle(f, size)
	case *session.Taken:
		return c.topics.handleTaken(f)
	case *session.Push:
		return c.handlePush(f, size)
	case *session.Broadcast:
		return c.handleBroadcast(f, size)
	case *session.Survey:
		return c.handleSurvey(f, size)
	case *session.Subscribe:
		return c.topics.handleSubscribe(f)
	case *session.Unsubscribe:
		c.topics.handleUnsubscribe(f)
	case *session.Members:
		return c.handleMembers(f, size)
	case *session.Status:
		return c.handleStatus(f, size)
	case *session.OpenTunnel, *session.TunnelCredit, *session.TunnelEnd, *session.TunnelReset:
		return c.handleTunnel(f, size)
	case *session.Ping:
		c.tell(&session.Pong{Token: f.Token})
	case *session.Pong:
	case *session.Error:
		c.log.Debug("client says that the relay broke the protocol", zap.Stringer("reason", f.Reason), zap.String("text", f.Text))
		c.end(errGone)
	default:
		return fmt.Sprintf("a client does not send %s", f.Kind())
	}
	return ""
}

// tell queues a frame that must not be lost; who does not read even so many
// loses the session.
func (c *client) tell(f session.Frame) {
	if err := c.sender.SendReserved(f); errors.Is(err, session.ErrQueueFull) {
		c.endSlow()
	}
}
