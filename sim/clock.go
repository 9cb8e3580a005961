// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// clock implements overlay.Clock: the bubble's time, and timers in the queue.
type clock struct{ p *process }

var _ overlay.Clock = (*clock)(nil)

// Now implements overlay.Clock.
func (c *clock) Now() time.Time { return time.Now() }

// AfterFunc implements overlay.Clock.
func (c *clock) AfterFunc(label string, d time.Duration, f func()) overlay.Timer {
	n := c.p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	k := c.p.key(kindTimer, 0, 0)
	k.name = label
	return &timer{n: n, event: n.after(d, k, func() { n.user.Go(f) })}
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
