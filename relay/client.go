// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/gate"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/relay/policy"
)

// client is the relay's side of one session. What comes is handled on the
// goroutine that reads its connection, which never waits.
type client struct {
	// Immutable after newClient.
	relay      *Relay
	id         wire.LeafID
	origin     uint64 // tells what this client publishes from what others do
	name       string
	log        *zap.Logger
	features   wire.Features
	largest    int // message that it takes, in bytes
	sess       *session.Session
	calls      *calls
	claims     *claims
	deliveries *deliveries
	topics     *topics
	out        *publisher
	tunnels    *tunnels
	answers    *answers
	conn       *attachment
	extent     extent
	seat       *seat
	rights     *rights
	*life
}

// seat is a client's place among all.
type seat struct {
	from     source
	observes bool // it is for asking the relay about itself only
	// Guarded by Relay.mu.
	taken bool
	spare bool // one of those that are kept for observers
}

// life is that of a client, from its Hello until nothing is left of its session.
type life struct {
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	gone   chan struct{} // closed when nothing is left of the session
	gate   gate.Gate     // of what runs for the client

	received wire.Counts // owned by cleanUp; when the session ended
}

func newLife(parent context.Context) *life {
	l := &life{gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(parent)
	return l
}

// newClient makes the client that said h, for whom there is a place. number is of
// its session.
func newClient(r *Relay, h *wire.LeafHello, id wire.LeafID, origin, number uint64, from source, who policy.Client) *client {
	c := &client{
		relay: r, id: id, origin: origin, name: h.Name,
		log:      r.log.With(zap.String("client", h.Name)),
		features: h.Features & (wire.AllFeatures | wire.FeatureObserver),
		largest:  largestMessage,
		seat:     &seat{from: from, observes: h.Features&wire.FeatureObserver != 0, taken: true},
		life:     newLife(r.ctx),
		extent:   r.shares.extent(number),
	}
	c.rights = &rights{law: &r.law, count: r.count, log: c.log, who: who}
	if h.LargestMessage > 0 {
		c.largest = min(int(h.LargestMessage), largestMessage)
	}
	c.conn = &attachment{c: c, instance: h.Instance, turn: make(chan struct{}, 1)}
	if c.features&wire.FeatureBeats != 0 {
		c.conn.beat = time.Duration(h.BeatMillis) * time.Millisecond
	}
	c.sess = session.New(c.sessionConfig(number))
	c.answers = &answers{c: c}
	c.answers.late.room = r.shares.bytes.Portion(number, ownBytes, stepBytes)
	c.calls = newCalls(c, number)
	c.claims = newClaims(c, number)
	c.deliveries = newDeliveries(c, number)
	c.topics = newTopics(c, origin)
	c.out = newPublisher(c, origin, number)
	c.tunnels = newTunnels(c, number)
	return c
}

// sessionConfig is what the session with a client is like.
func (c *client) sessionConfig(number uint64) session.Config {
	r := c.relay
	return session.Config{
		Seam: session.Seam{
			Clock: r.clock, Exec: r.exec, Rand: r.dice, Rounds: r.rounds,
			Go: func(f func()) bool { return c.spawn("relay/write", f) },
		},
		Key: c.origin, Number: number, ID: r.random.Uint64() | 1, Epoch: r.epoch,
		LaneBytes: r.cfg.Limits.lanes(), MaxMessage: largestMessage + messageOverhead, Memory: c.memory(number), Dropped: c.dropped,
		Beat: c.conn.beat, Leaf: true, Forget: c.features&wire.FeatureResume == 0,
		Handler: c.handle, Changed: c.conn.changed,
	}
}

// memory is what the session holds of what all clients share.
func (c *client) memory(number uint64) session.Memory {
	s := &c.relay.shares
	room := s.bytes.Portion(number, ownLaneBytes, stepBytes)
	return session.Memory{Pool: &c.relay.pool, Budget: s.bytes.Holding(number, ownBytes, stepBytes), Bodies: &c.relay.bodies, Room: &room}
}

// dropped is told what the session could not take. A message that comes in parts and
// finds no room can't be answered any more: the session ends, so that the client
// knows what is lost.
func (c *client) dropped(why session.Drop, n int) {
	if why != session.DropFragmentShare {
		return
	}
	c.relay.count.add(dropShareOfBytes, n)
	c.relay.count.ended[wire.EndOther].Add(1)
	c.leave(wire.EndOther, c.relay.refusals.shareOfBytes.Error(), linger)
}

// handle takes one message from the client.
func (c *client) handle(lane wire.Lane, k wire.Kind, body []byte) (kept bool) {
	if c.conn.broken.Load() {
		c.sess.Hold() // it was not looked at
		return false
	}
	var err error
	switch k {
	case wire.KindPublish, wire.KindServe, wire.KindSubscribe:
		if c.seat.observes {
			c.violated(undue("an observer only asks the relay about itself"))
			return false
		}
	}
	switch k {
	case wire.KindRequest:
		kept, err = true, c.calls.handleRequest(body)
	case wire.KindReply:
		err = c.deliveries.handleReply(body)
	case wire.KindCancel:
		err = c.calls.handleCancel(body)
	case wire.KindPublish:
		err = c.out.handle(lane, body)
	case wire.KindServe:
		err = c.deliveries.handleServe(body)
	case wire.KindSubscribe:
		err = c.topics.handleSubscribe(body)
	case wire.KindLeave:
		err = c.claims.handleLeave(body)
	case wire.KindTunnelData, wire.KindTunnelCredit, wire.KindTunnelEnd, wire.KindTunnelReset:
		kept, err = c.handleTunnel(k, body)
	default:
		c.relay.count.drop(dropUnknownFrame)
	}
	if err != nil {
		c.violated(err)
	}
	return kept
}

// handleTunnel takes a frame of a tunnel, or credit for a subscription.
func (c *client) handleTunnel(k wire.Kind, body []byte) (kept bool, err error) {
	if k == wire.KindTunnelCredit {
		if ours, err := c.topics.handleTaken(body); ours {
			return false, err
		}
	}
	return c.tunnels.handle(k, body)
}

// violated tells the client what it did wrong, behind all that waits for it, and
// ends the session.
func (c *client) violated(err error) {
	c.conn.broken.Store(true)
	c.relay.count.ended[wire.EndProtocol].Add(1)
	c.log.Debug("ended the session of a client that broke the protocol", zap.Error(err))
	c.leave(wire.EndProtocol, err.Error(), linger)
}

// leave ends the session when the client has had all that waits for it, or after
// so long.
func (c *client) leave(code wire.EndCode, text string, patience time.Duration) {
	c.sess.Leave(uint32(code), text)
	c.relay.clock.AfterFunc("relay/leave", patience, func() { c.end(errGone) })
}

// tooLarge says that the client does not take so many bytes of a message.
func (c *client) tooLarge(size int) bool { return size > c.largest }

// now is the relay's time, linkTime what the client is told of t, and localTime
// the reverse for what the client says.
func (c *client) now() time.Time { return c.relay.clock.Now() }

func (c *client) linkTime(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(1, t.Sub(c.relay.epoch)))
}

func (c *client) localTime(clock uint64) time.Time {
	return c.relay.epoch.Add(time.Duration(min(clock, 1<<62)) - c.sess.Offset())
}

// deadline is when a call ends; zero = the node's default.
func (c *client) deadline(clock uint64) time.Time {
	if clock == 0 {
		return time.Time{}
	}
	return c.localTime(clock)
}

// until is a context of the session that ends at a deadline; zero = 5 s from now.
func (c *client) until(deadline time.Time) (context.Context, context.CancelFunc) {
	if deadline.IsZero() {
		return c.relay.within(c.ctx, request.DefaultTimeout)
	}
	return c.relay.within(c.ctx, deadline.Sub(c.now()))
}

// work runs f, which does something that the client has asked for, on a goroutine
// that the client waits for, unless it has its share of these.
func (c *client) work(name string, f func()) error {
	if !c.extent.work.Take(1) {
		return c.relay.refusals.shareOfWork
	}
	if !c.spawn(name, func() { defer c.extent.work.Give(1); f() }) {
		c.extent.work.Give(1)
		return patterns.ErrOverloaded
	}
	return nil
}

// spawn runs f on a goroutine that the client waits for, unless it can't.
func (c *client) spawn(name string, f func()) bool {
	if !c.gate.Enter() {
		return false
	}
	ok := c.relay.spawn(name, c.origin, func() {
		defer c.gate.Leave()
		f()
	})
	if !ok {
		c.gate.Leave()
	}
	return ok
}

// micros is a time as it travels; 0 = byDefault.
func micros(v uint64, byDefault time.Duration) time.Duration {
	if v == 0 {
		return byDefault
	}
	return time.Duration(min(v, 1<<62/1000)) * time.Microsecond
}

// end ends the session at once; the first cause counts.
func (c *client) end(cause error) {
	if !c.conn.finish() {
		return
	}
	c.log.Debug("client detached", zap.Error(cause))
	c.sess.End()
	c.tunnels.end() // before the members leave: they are interrupted
	c.cancel()
	ok := c.relay.spawn("relay/end", c.origin, func() {
		c.received = c.sess.Detach() // the reader still publishes what it has
		c.cleanUp()
	})
	if !ok {
		c.received = wire.UnknownCounts()
		c.cleanUp()
	}
}

// cleanUp ends what the client had, and waits for it.
func (c *client) cleanUp() {
	c.calls.endAll()
	c.deliveries.end()
	c.topics.proxy.Close()
	c.claims.end()
	c.gate.Close()
	c.conn.keys.giveBack()
	c.relay.forget(c)
	close(c.gone)
}
