// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// belief is what a receiver takes forwarders' word for in one session of a source: a
// pure core. A forwarder is believed if a path that the source has signed names it,
// and only as to numbers that the path allows: those after which it was signed, up to
// maxLead, and none that a later path had already left behind.
type belief struct {
	grants []grant // by serial, the newest last; at most maxPaths
	oldest uint64  // serial of the last one that is known of, if all were forgotten
	may    entitlement
}

// newest is the serial of the last one that is known of.
func (b *belief) newest() uint64 {
	if n := len(b.grants); n > 0 {
		return b.grants[n-1].serial
	}
	return b.oldest
}

// grant is one signed path that leads here.
type grant struct {
	serial uint64
	floor  uint64 // of what was sealed for it
	run    uint32
	base   uint64    // what had been addressed to this node when it was signed
	top    uint64    // the last number that came by it
	via    []peer.ID // the forwarders that it names

	// What was verified, so that it is once.
	incarnation uint64
	nodes       security.PathDigest
	certificate security.CertificateHash
	signature   [64]byte
}

// allows says whether the forwarder may say that so many have been addressed to this
// node in that run, and notes that it has.
func (b *belief) allows(from peer.ID, run uint32, last uint64) bool {
	for i := len(b.grants) - 1; i >= 0; i-- {
		if g := &b.grants[i]; g.run == run && last <= b.limit(i) && slices.Contains(g.via, from) {
			g.top = max(g.top, last)
			return true
		}
	}
	return false
}

// limit is the last number that may come by a path: what comes by it later was
// addressed before the next one was signed.
func (b *belief) limit(i int) uint64 {
	g := &b.grants[i]
	limit := g.base + env.MaxLead
	for _, later := range b.grants[i+1:] {
		if later.run == g.run {
			return min(limit, later.base)
		}
	}
	return limit
}

// known says whether the same path was verified before.
func (b *belief) known(g *grant) bool {
	return slices.ContainsFunc(b.grants, func(o grant) bool {
		return o.serial == g.serial && o.nodes == g.nodes && o.certificate == g.certificate && o.signature == g.signature && o.incarnation == g.incarnation
	})
}

// add takes in a path that was verified. It is refused if it is older than those that
// are remembered. lied says that a forwarder has gone beyond what its publisher had
// addressed, which shows now: all that came by an older path is at most base.
func (b *belief) add(g grant) (lied, ok bool) {
	i, same := slices.BinarySearchFunc(b.grants, g.serial, func(o grant, serial uint64) int { return cmp.Compare(o.serial, serial) })
	if same {
		return false, b.grants[i].nodes == g.nodes && b.grants[i].run == g.run
	}
	if g.serial < b.oldest || i == 0 && len(b.grants) == maxPaths {
		return false, false
	}
	for _, o := range b.grants[:i] {
		lied = lied || o.run == g.run && o.top > g.base
	}
	for k := range b.grants[:i] {
		if o := &b.grants[k]; o.run == g.run {
			o.top = min(o.top, g.base)
		}
	}
	b.grants = slices.Insert(b.grants, i, g)
	if len(b.grants) > maxPaths {
		b.grants = slices.Delete(b.grants, 0, 1)
	}
	return lied && i == len(b.grants)-1, true
}

// moved says whether a forwarder's word went as far as that number.
func (b *belief) moved(run uint32, number uint64) bool {
	return slices.ContainsFunc(b.grants, func(g grant) bool { return g.run == run && g.top >= number })
}
