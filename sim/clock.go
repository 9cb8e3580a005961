// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// clock implements overlay.Clock: the bubble's time as the host's clock shows
// it, and timers in the queue.
type clock struct {
	p    *process
	step time.Duration // of the wall clock, when the process began
}

var _ overlay.Clock = (*clock)(nil)

// Now implements overlay.Clock.
func (c *clock) Now() time.Time { return c.shown(c.p.n.now()) }

// shown is what the clock shows at an instant.
func (c *clock) shown(now int64) time.Time {
	return c.p.n.start.Add(time.Duration(now) + c.step + time.Duration(c.p.host.skew.Load().drifted(now)))
}

// AfterFunc implements overlay.Clock.
func (c *clock) AfterFunc(label string, d time.Duration, f func()) overlay.Timer {
	n := c.p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	k := c.p.key(kindTimer, 0, 0)
	k.name = label
	d = time.Duration(c.p.host.skew.Load().real(int64(d)))
	return &timer{n: n, event: n.after(d, k, func() { n.user.Go(f) })}
}

// instant is when the host's clock will show t.
func (c *clock) instant(t time.Time) int64 {
	now := c.p.n.now()
	return now + c.p.host.skew.Load().real(int64(t.Sub(c.shown(now))))
}

// timer is an event that can be taken back.
type timer struct {
	n     *Network
	event *event
}

// Stop implements overlay.Timer.
func (t *timer) Stop() bool {
	t.n.mu.Lock()
	defer t.n.mu.Unlock()
	return t.n.cancel(t.event)
}
