// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
)

// tunnels are those of one client, of both kinds: the node joins each with one on
// its own links, frame by frame.
type tunnels struct {
	c   *client
	hop *tunnel.Hop

	// Guarded by mu.
	mu       sync.Mutex
	arrivals map[uint64]*arrival // that the client has not answered, by the request's id
}

// arrival is a tunnel that somebody opens to a member of the client.
type arrival struct {
	delivery *request.Delivery
	splice   *tunnel.Splice
}

func newTunnels(c *client, number uint64) *tunnels {
	s := &c.relay.shares
	t := &tunnels{c: c, arrivals: map[uint64]*arrival{}}
	t.hop = c.relay.cfg.Node.Hop(tunnel.HopConfig{
		Conduit: conduit{c}, MaxTunnels: c.relay.cfg.Limits.Tunnels, BufferBytes: c.relay.cfg.Limits.TunnelBytes,
		Places: s.tunnels.Holding(number, ownPlaces, stepPlaces), Room: s.bytes.Holding(number, ownTunnelBytes, stepBytes),
		Recycle: c.relay.bodies.Put,
	})
	return t
}

// conduit takes the frames of tunnels to a client.
type conduit struct{ c *client }

// Send implements tunnel.Conduit.
func (t conduit) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) error {
	_, err := t.c.sess.Send(lane, k, parts...)
	return err
}

// SendLater implements tunnel.Conduit.
func (t conduit) SendLater(lane overlay.Lane, k wire.Kind, sent func(err error), parts ...[]byte) error {
	_, err := t.c.sess.SendLater(lane, k, func(_ session.Receipt, err error) { sent(err) }, parts...)
	return err
}

// Lend is Send that keeps the last of parts, and LendLater likewise; see session.Lend.
func (t conduit) Lend(k wire.Kind, back func(chunk []byte), parts ...[]byte) (kept bool, err error) {
	return session.Lend(t.c.sess, k, back, parts...)
}

// LendLater see Lend.
func (t conduit) LendLater(k wire.Kind, sent func(err error), back func(chunk []byte), parts ...[]byte) error {
	_, err := session.LendLater(t.c.sess, k, func(_ session.Receipt, err error) { sent(err) }, back, parts...)
	return err
}

// handle takes a frame of a tunnel.
func (t *tunnels) handle(k wire.Kind, body []byte) (kept bool, err error) {
	if t.c.features&wire.FeatureTunnels == 0 {
		return false, undue("tunnels are a feature that the hello does not name")
	}
	if _, _, err := wire.TunnelOf(body); err != nil {
		return false, malformed(err)
	}
	return t.hop.Handle(k, body), nil
}

// open opens a tunnel for the client.
func (t *tunnels) open(k *call) {
	if t.c.features&wire.FeatureTunnels == 0 {
		k.fail(errors.New("relay: tunnels are a feature that the hello does not name"))
		return
	}
	var limit *tunnel.LimitError
	s, tail, err := t.hop.Open(k.ask.Cluster, k.ask.Tail)
	if err != nil {
		switch {
		case t.c.relay.isDraining():
			err = errDraining
		case errors.Is(err, tunnel.ErrShare):
			err = t.c.relay.refusals.shareOfTunnels
		case errors.As(err, &limit):
			err = fmt.Errorf("%w: %s: at most %d: use another program, or another relay", ErrTooManyTunnels, limit.What, limit.Most)
		}
		k.fail(err)
		return
	}
	k.ask.Tail, k.ask.Tunnel, k.opened = tail, s.ID(), s
	k.run()
}

// opened makes the reply to the opening of a tunnel.
func (k *call) openedReply(a request.Answer, err error) (wire.Reply, []byte) {
	var tail []byte
	if err != nil {
		k.opened.Abandon()
	} else {
		tail, err = k.opened.Opened(a, a.Tail)
	}
	return replyOf(k.id, a, k.outcome(err)), tail
}

// deliver hands the client a tunnel that somebody opens.
func (t *tunnels) deliver(m *member, d *request.Delivery) {
	s, tail, err := t.hop.Deliver(tunnel.Arrival{
		Server: d.Server, Link: d.Link, Session: d.Session, From: d.From(),
		SenderIncarnation: d.SenderIncarnation, Sealed: d.Sealed, Tunnel: d.Tunnel, Tail: d.Tail,
	})
	if err == nil && t.c.features&wire.FeatureTunnels == 0 {
		s.Abandon()
		err = &patterns.RemoteError{Code: patterns.CodeNoMethod, Message: "this member takes no tunnels"}
	}
	if err != nil {
		t.refuse(d, err)
		return
	}
	x := &arrival{d, s}
	t.mu.Lock()
	t.arrivals[d.Number] = x
	t.mu.Unlock()
	// It waits behind what other tunnels send: two busy ones fill the lane.
	head := m.headOf(d)
	sent := func(_ session.Receipt, err error) {
		if err != nil && t.take(d.Number) != nil {
			s.Abandon()
			t.c.relay.count.drop(dropSlowDelivery)
			refuse(d, outcomeOf(err))
		}
	}
	if _, err := t.c.sess.SendLater(wire.LaneBulk, wire.KindRequest, sent, head.AppendHead(nil), tail); err != nil {
		sent(session.Receipt{}, err)
	}
}

// refuse answers an opening that the client has not seen.
func (t *tunnels) refuse(d *request.Delivery, err error) {
	var remote *patterns.RemoteError
	var refusal *patterns.Refusal
	switch {
	case errors.As(err, &remote):
		d.Answer(wire.Reply{
			Outcome: wire.OutcomeRemoteError, Code: uint32(remote.Code),
			Tail: wire.AppendTail(nil, nil, []byte(remote.Message)),
		})
	case errors.As(err, &refusal) && errors.Is(refusal.Cause, patterns.ErrClosed):
		refuse(d, wire.OutcomeDraining)
	default:
		why := ErrTooManyTunnels
		if tunnel.IsShare(err) {
			why = ErrShareOfTunnels
		}
		t.c.relay.count.limit(why)
		refuse(d, wire.OutcomeOverloaded)
	}
}

// take returns an opening that waits for the client, once.
func (t *tunnels) take(id uint64) *arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.arrivals[id]
	delete(t.arrivals, id)
	return x
}

// answered passes on what the client says to an opening; false if it is none.
func (t *tunnels) answered(r *wire.Reply) bool {
	x := t.take(r.ID)
	if x == nil {
		return false
	}
	if r.Outcome != wire.OutcomeReply {
		x.splice.Abandon()
		t.c.relay.count.refusal(r)
		x.delivery.Answer(*r)
		return true
	}
	tail, err := x.splice.Served(r.Tail)
	if err != nil {
		refuse(x.delivery, wire.OutcomeCancelled)
		return true
	}
	r.Tail = tail
	x.delivery.Answer(*r)
	return true
}

// cancel gives up an opening that the client has not answered.
func (t *tunnels) cancel(d *request.Delivery) {
	if x := t.take(d.Number); x != nil {
		x.splice.Abandon()
		refuse(d, wire.OutcomeCancelled)
	}
}

// end is after the session.
func (t *tunnels) end() {
	t.mu.Lock()
	open := t.arrivals
	t.arrivals = map[uint64]*arrival{}
	t.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(open)) {
		x := open[id]
		x.splice.Abandon()
		refuse(x.delivery, wire.OutcomeInterrupted)
	}
	t.hop.Close()
}
