// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/cluster"
)

// await waits until the plan wants something else than to wait, for pause at
// most if it is not zero.
func (c *call) await(ctx context.Context, pause time.Duration) decision {
	if pause > 0 {
		c.arm(pause)
	}
	for {
		ev, ok := c.box.take()
		if ok {
			if d := c.handle(ev); d.do != doWait || d.err != nil {
				return d
			}
			continue
		}
		c.moment = 0
		select {
		case <-c.box.ready:
		case <-ctx.Done():
			c.engine.takeTurn("request.over", c.first.id)
			return c.timeOver(ctx.Err())
		}
	}
}

// timeOver ends it because time is over, or the caller gives up.
func (c *call) timeOver(cause error) decision {
	c.unqueue()
	return c.end(c.plan.over(cause))
}

// arm starts the timer of a pause, in place of an earlier one.
func (c *call) arm(pause time.Duration) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timers++
	ev := event{what: eventTimer, timer: c.timers, call: c}
	c.timer = c.engine.cfg.Clock.AfterFunc("request.pause", pause, func() { c.box.put(ev) })
}

// handle takes in one event.
func (c *call) handle(ev event) decision {
	if ev.attempt != nil && ev.attempt.ended {
		return waiting() // given up between the event and now
	}
	switch ev.what {
	case eventReply:
		c.moment = ev.attempt.arrived
		return c.answered(ev.attempt)
	case eventUp:
		return c.transmit(ev.attempt)
	case eventSent:
		ev.attempt.withdraw = nil
		return c.sent(ev.attempt, ev.attempt.queued, ev.attempt.queuedErr)
	case eventFailed:
		return c.failed(ev.attempt, ev.failure)
	case eventDoubt:
		return c.plan.doubted(ev.attempt.number)
	case eventTimer:
		if ev.timer == c.timers {
			return c.resume()
		}
	case eventDeadline:
		return c.timeOver(context.DeadlineExceeded)
	case eventClosed:
		c.unqueue()
		return c.end(c.plan.closing())
	}
	return waiting()
}

// resume ends a pause: an attempt that still waits for its link has waited
// long enough, and who was waited for may have come.
func (c *call) resume() decision {
	for _, a := range c.attempts {
		if a.ended {
			continue
		}
		if c.engine.pending.takeIf(a.id, func(a *attempt) bool { return a.connecting }) != nil {
			c.settle(a, cluster.OutcomeFailed) // it hangs, which its link will not say for long
			return c.failed(a, failedUnreached)
		}
		if !c.plan.trials[a.number].doubtful {
			return waiting()
		}
	}
	return trying()
}
