// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// runBytes is how many bytes several messages have at most that are published together:
// with what is around them they stay in one frame.
const runBytes = wire.MaxPayload - 1<<10

// errApart says that several messages have to be published one by one.
var errApart = errors.New("pubsub: each of several messages is a publication of its own")

// PublishRun is e.PublishTail of count messages, none of which is named, as
// wire.DecodeLeafPublish has checked them. It says how many were published; err is about so
// many that follow these. If they are not all, the others were not looked at.
func PublishRun(ctx context.Context, e *Engine, topic string, run wire.Messages, count int, o patterns.PublishOptions) (done, failed int, err error) {
	return publishRun(e, topic, run, count,
		func(p *publication) error { return p.publish(ctx, e, topic, o) },
		func(tail []byte) error { return e.PublishTail(ctx, topic, tail, o) })
}

// TryPublishRun is PublishRun, but returns patterns.ErrWouldBlock where that would wait.
func TryPublishRun(e *Engine, topic string, run wire.Messages, count int, o patterns.PublishOptions) (done, failed int, err error) {
	return publishRun(e, topic, run, count,
		func(p *publication) error { return p.try(e, topic, o) },
		func(tail []byte) error { return e.TryPublishTail(topic, tail, o) })
}

// publishRun publishes all together, if that can be, or each by itself.
func publishRun(e *Engine, topic string, run wire.Messages, count int, all func(*publication) error, one func(tail []byte) error) (done, failed int, err error) {
	if count > 1 && len(run) <= runBytes {
		e.base.Order.Call("pubsub.publish", topic, run, 0)
		p := e.calls.Get().(*publication)
		p.run, p.count = run, count
		err := all(p)
		e.finished(p)
		switch err {
		case nil:
			return count, 0, nil
		case errApart:
		default:
			return 0, count, err
		}
	}
	for m := (wire.Message{}); done < count; done++ {
		m = run.Next(m)
		if err := one(m.Content); err != nil {
			return done, 1, err
		}
	}
	return done, 0, nil
}

// together says whether several messages have to be nothing but sent, and handed to those
// here: they are neither signed nor sealed, and no queue here picks among them.
func (p *publication) together(r *route, up *uplink) bool {
	return !p.to.keys.Seals() && !r.asked(up) && p.heard().atOnce()
}
