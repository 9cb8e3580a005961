// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/internal/name"
)

// pattern is a crossing in force that stands for many clusters. Nobody can list the names
// in a network, so each is lent when somebody asks for it, until it was not used for a
// while. Its fields are guarded by the gateway's mu.
type pattern struct {
	what    Crossing // without its limits
	limits  Limits   // of each cluster
	lends   map[string]*demand
	refused uint64 // questions for clusters beyond maxDemands, or beyond the share of who asked
}

// demand is a cluster of a pattern that somebody has asked for.
type demand struct {
	*lend
	by    string    // peer id of who asked first
	since time.Time // when somebody asked last
}

// Bounds of what is lent because somebody asked.
const (
	maxDemands = 1024            // clusters of one pattern
	maxAsked   = maxDemands / 4  // of these, those that one peer has caused
	keepDemand = 5 * time.Minute // after the last message or question
	giveWay    = time.Minute     // likewise, when there is no room for others
)

// matches returns the crossing that lends the cluster called as in the borrowing network.
func (p *pattern) matches(as string) (c Crossing, ok bool) {
	rest, ok := name.Matches(p.what.As, as)
	if !ok {
		return Crossing{}, false
	}
	c = p.what
	c.Cluster, c.As = name.Fill(c.Cluster, rest), as
	return c, c.checkNames() == nil
}

// room says whether the peer may have one more cluster lent, and makes room for it, if
// need be by giving up the one that was not used for longest.
func (p *pattern) room(by string, now time.Time) bool {
	caused := 0
	var oldest *demand
	for _, d := range p.lends {
		if d.by == by {
			caused++
		}
		if oldest == nil || cmp.Or(d.last().Compare(oldest.last()), cmp.Compare(d.what.As, oldest.what.As)) < 0 {
			oldest = d
		}
	}
	switch {
	case caused >= maxAsked:
		return false
	case len(p.lends) < maxDemands:
		return true
	case !oldest.idle(now, giveWay):
		return false
	}
	p.end(oldest)
	return true
}

// end stops lending a cluster; what is under way is finished.
func (p *pattern) end(d *demand) {
	delete(p.lends, d.what.As)
	d.stop()
}

// expire ends what was not used for a while.
func (p *pattern) expire(now time.Time) {
	for _, d := range p.sorted() {
		if d.idle(now, keepDemand) {
			p.end(d)
		}
	}
}

// endAll stops lending all of them.
func (p *pattern) endAll() {
	for _, d := range p.sorted() {
		p.end(d)
	}
}

// sorted returns what is lent, by name.
func (p *pattern) sorted() []*demand {
	return slices.SortedFunc(maps.Values(p.lends), func(a, b *demand) int { return cmp.Compare(a.what.As, b.what.As) })
}

// last is when the cluster was used or asked for.
func (d *demand) last() time.Time {
	if used := d.made.Add(time.Duration(d.used.Load())); used.After(d.since) {
		return used
	}
	return d.since
}

// idle says that nothing was asked of it for so long, and nothing is under way.
func (d *demand) idle(now time.Time, patience time.Duration) bool {
	return now.Sub(d.last()) >= patience && d.tunnels.open() == 0 && !d.border.busy()
}
