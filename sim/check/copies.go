// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// course is the way that one publication took.
type course struct {
	hops  map[string]int     // node → how many nodes before it had the publication
	sent  map[string]int     // node → to how many others it sent it
	legs  map[[2]string]bool // from, to: so that what is sent again counts once
	bytes int                // of the copies that its publisher's node sent
}

// courses follows each publication from node to node.
func courses(x *topics) []*course {
	out := make([]*course, len(x.h.Publications))
	for i := range x.h.Copies {
		c := &x.h.Copies[i]
		n, ok := x.published[c.Publication]
		if !ok {
			continue
		}
		publisher := x.lives.carrier(x.h.Publications[n].Publisher)
		if out[n] == nil {
			out[n] = &course{hops: map[string]int{publisher: 0}, sent: make(map[string]int), legs: make(map[[2]string]bool)}
		}
		way := out[n]
		if leg := [2]string{c.From, c.To}; !way.legs[leg] {
			way.legs[leg] = true
			way.sent[c.From]++
		}
		if c.From == publisher {
			way.bytes += c.Bytes
		}
		before, known := way.hops[c.From]
		if _, again := way.hops[c.To]; known && !again {
			way.hops[c.To] = before + 1
		}
	}
	return out
}

// crowd is the largest of what is measured of the ways of publications.
type crowd struct {
	depth, deliveries          int
	own, others, bytes, copied int
}

// measureCopies finds out which way publications took, if the level heard them.
func measureCopies(x *topics, s sheet) {
	if len(x.h.Copies) == 0 {
		return
	}
	ways := courses(x)
	all := make(map[string]*crowd)
	of := func(name string) *crowd { return entry(all, name) }
	for i, way := range ways {
		p := &x.h.Publications[i]
		if way == nil || p.Work == probe {
			continue
		}
		for _, name := range labels(p.Work) {
			of(name).add(way, x.lives.carrier(p.Publisher))
		}
	}
	measureDepth(x, ways, of)
	for name, c := range all {
		if c.copied > 0 {
			s[named("publisher_copies", name)] = Metric{Value: float64(c.own), Unit: Count, Samples: c.copied}
			s[named("publisher_bytes", name)] = Metric{Value: float64(c.bytes), Unit: Bytes, Samples: c.copied}
			s[named("forwarder_copies", name)] = Metric{Value: float64(c.others), Unit: Count, Samples: c.copied}
		}
		if c.deliveries > 0 {
			s[named("tree_depth", name)] = Metric{Value: float64(c.depth), Unit: Count, Samples: c.deliveries}
		}
	}
}

func (c *crowd) add(way *course, publisher string) {
	c.copied++
	c.bytes = max(c.bytes, way.bytes)
	for node, n := range way.sent {
		if node == publisher {
			c.own = max(c.own, n)
		} else {
			c.others = max(c.others, n)
		}
	}
}

// measureDepth looks at how far what was delivered had come.
func measureDepth(x *topics, courses []*course, of func(string) *crowd) {
	for i, list := range x.got {
		sub := &x.h.Subscriptions[i]
		for _, n := range list {
			at := x.published[x.h.Deliveries[n].Publication]
			p := &x.h.Publications[at]
			if courses[at] == nil || p.Work == probe {
				continue
			}
			hops, known := courses[at].hops[x.lives.carrier(sub.Node)]
			if !known {
				continue
			}
			for _, name := range labels(p.Work, sub.Name) {
				c := of(name)
				c.deliveries++
				c.depth = max(c.depth, hops)
			}
		}
	}
}

func copyMetrics() []MetricInfo {
	return perWork([]MetricInfo{
		{Name: "tree_depth", Unit: Count, Meaning: "links that a publication passed until it was delivered, at most; counted from node to node, at level sim only. None of those below knows publications that are sealed or larger than a frame"},
		{Name: "publisher_copies", Unit: Count, Meaning: "nodes to which the node of a publisher sent one publication itself, at most; level sim only"},
		{Name: "publisher_bytes", Unit: Bytes, Meaning: "bytes of one publication that its publisher's node sent, with all that is around the message and what was sent again, at most; level sim only"},
		{Name: "forwarder_copies", Unit: Count, Meaning: "nodes to which another node passed one publication on, at most; level sim only"},
	}, nil)
}
