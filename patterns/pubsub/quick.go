// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"

	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// quickBytes is how long a message is at most that is published quickly.
const quickBytes = 4 << 10

// publishQuickly is Publish where all there is to do is to add a message without headers to
// what the one node that listens was sent last on the topic, and still waits. So is nearly
// all that is published while a link is busy, and a publication is large. done is false if it
// did nothing.
func publishQuickly(ctx context.Context, e *Engine, topic string, body []byte) (done bool, err error) {
	if len(body) > quickBytes || e.local.any() || ctx.Err() != nil {
		return false, nil
	}
	r, up, err := e.publishers.begin(topic, "")
	if err != nil {
		return false, nil // publish says why
	}
	defer e.publishers.done(r.to)
	c := fanout.Content{Body: body}
	if up == nil || !known(&r.to.listeners, up) || r.to.keys.Seals() || r.asked(up) || !sendQuickly(r.to, r, &c) {
		return false, nil
	}
	e.armSweep()
	e.base.Counts.Published.Add(1)
	if up.put(r.to.last.Load(), r.topic, &c) == nil {
		return true, nil
	}
	p := e.calls.Get().(*publication)
	defer e.finished(p)
	p.e, p.to, p.uplink, p.out.Topic, p.what, p.sent, p.above = e, r.to, up, r.topic, c, true, true
	return true, p.slowly(ctx, true)
}

// sendQuickly is send where that is enough.
func sendQuickly(p *publisher, r *route, c *fanout.Content) bool {
	p.enter()
	defer p.Unlock()
	rs := same(p, &r.WayTo)
	if len(rs) != 1 {
		return false
	}
	p.Encoder.One(c)
	if !repeated(p, rs[0], r.topic, 1, c.Body) {
		return false
	}
	p.Tree.Signer.Addressed++
	return true
}
