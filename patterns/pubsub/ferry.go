// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// lentPrefix begins the names of the queues of gateways. Programs have none like that.
const lentPrefix = "$"

func isLent(queue string) bool { return strings.HasPrefix(queue, lentPrefix) }

// checkQueue refuses the names of queues of gateways.
func checkQueue(queue string) error {
	if isLent(queue) {
		return fmt.Errorf("%w: queue %q: names that begin with %s are reserved", patterns.ErrTopic, queue, lentPrefix)
	}
	return nil
}

// maxFerries bounds the queues of gateways that a publisher remembers: where there are
// more, it forgets the half that it has used least of late.
const maxFerries = 1024

// ferry is which gateway a publisher gives what it publishes, for each queue of
// gateways: one of them, and the same as long as it is live, so that the order is kept;
// and how much it has given to all of them together. Publishers that choose for
// themselves need nobody to agree with: each message has one gateway.
type ferry struct {
	all   map[uint64]*passenger // by queue
	found []boarding            // scratch: whom the next message has
	sent  uint64                // messages that were numbered
	floor uint64                // no number of a queue that was forgotten is above it
}

// passenger is what is known of one queue.
type passenger struct {
	node   uint64 // that has the messages
	serial uint64 // of the last one
	used   uint64 // ferry.sent then
}

type boarding struct {
	queue uint64
	to    candidate
	node  uint64
}

// ferries appends to picks the gateway for each queue of gateways, which has no number
// before board, and says for how many of them a message had no room. What has crossed one
// border crosses no other.
func (p *picker) ferries(w *way, own []wire.Interest, what *content, picks []wire.Pick) (all []wire.Pick, beyond int) {
	p.ferry.found = p.ferry.found[:0]
	if what.flags&wire.FlagLent != 0 {
		return picks, 0
	}
	p.queues = append(p.queues[:0], w.lent...)
	for _, i := range own {
		if !isLent(i.Queue) {
			continue
		}
		if q := hashQueue(i.Pattern, i.Queue); !slices.Contains(p.queues, q) {
			p.queues = append(p.queues, q)
		}
	}
	room := min(max(maxPicks-len(picks), 0), len(p.queues))
	for _, q := range p.queues[:room] {
		picks = p.ferryFor(q, w, own, picks)
	}
	return picks, len(p.queues) - room
}

func (p *picker) ferryFor(q uint64, w *way, own []wire.Interest, picks []wire.Pick) []wire.Pick {
	p.candidates(q, w, own, p.live)
	if len(p.nodes) == 0 {
		p.candidates(q, w, own, func(*receiver) bool { return true })
	}
	if len(p.nodes) == 0 {
		return picks
	}
	b := p.ferry.choose(q, p.nodes, p.self)
	p.ferry.found = append(p.ferry.found, b)
	return append(picks, wire.Pick{Queue: q, Node: b.node})
}

// choose keeps the gateway that there is; another one is the nearest by an order that
// differs from publisher to publisher, so that gateways share them (rendezvous hashing,
// Thaler and Ravishankar 1998); this node itself comes first.
func (f *ferry) choose(q uint64, nodes []candidate, self uint64) (best boarding) {
	least := uint64(0)
	for i, c := range nodes {
		node, rank := self, uint64(0)
		if c.r != nil {
			node, rank = c.r.hash, mix(c.r.hash^self)
		}
		if was := f.all[q]; was != nil && was.node == node {
			return boarding{q, c, node}
		}
		if i == 0 || rank < least {
			best, least = boarding{q, c, node}, rank
		}
	}
	return best
}

// mix spreads the bits (the finalizer of SplitMix64, Steele et al. 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// lacking is the first gateway that was chosen and has no room.
func (f *ferry) lacking(room func(*receiver) bool) []*receiver {
	for _, b := range f.found {
		if b.to.r != nil && !room(b.to.r) {
			return []*receiver{b.to.r}
		}
	}
	return nil
}

// board takes in that the message is sent, and numbers it for each queue of gateways.
func (f *ferry) board(picks []wire.Pick) []wire.Pick {
	if len(f.found) > 0 {
		f.sent++
	}
	for _, b := range f.found {
		known := f.all[b.queue]
		if known == nil {
			known = f.add(b.queue)
		}
		known.node, known.used = b.node, f.sent
		known.serial++
		for i := range picks {
			if picks[i].Queue == b.queue {
				picks[i].Serial = known.serial
			}
		}
	}
	clear(f.found)
	f.found = f.found[:0]
	return picks
}

// add begins to number for a queue, beyond what it may have had before it was forgotten:
// to gateways a number that does not grow is a message that came late.
func (f *ferry) add(queue uint64) *passenger {
	if f.all == nil {
		f.all = make(map[uint64]*passenger)
	}
	if len(f.all) >= maxFerries {
		oldest := slices.SortedFunc(maps.Keys(f.all), func(a, b uint64) int {
			return cmp.Or(cmp.Compare(f.all[a].used, f.all[b].used), cmp.Compare(a, b))
		})
		for _, q := range oldest[:maxFerries/2] {
			f.floor = max(f.floor, f.all[q].serial)
			delete(f.all, q)
		}
	}
	known := &passenger{serial: f.floor}
	f.all[queue] = known
	return known
}

// NewLender returns a proxy for the subscriptions of a gateway, which lends what they
// get to another network: it may have queues whose names begin with $. Of the gateways
// that share one each message of a publisher goes to one, and to the same one as long as
// that is live.
func NewLender(e *Engine, s Sink) *Proxy {
	o := e.NewProxy(s, 0)
	o.lender = true
	return o
}

// LentQueue is the queue of the gateways that lend to the network of that id.
func LentQueue(to security.NetworkID) string {
	h := sha256.Sum256(append([]byte("arke lent topics "), to[:]...))
	return lentPrefix + hex(binary.BigEndian.Uint64(h[:]))
}

// lend hands what is published on the gateway's own node to it, if it is the one that
// has it.
func (p *publication) lend(s *subscription, m *message) {
	for _, pick := range p.out.picks {
		if pick.Queue == s.queue && pick.Node == p.e.hash {
			d := m.delivery()
			d.Session = p.session()
			s.lend(&d, pick, p.out.picks)
		}
	}
}
