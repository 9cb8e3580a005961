// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/scenario"
)

// hoarder makes others hold as much as they will.
type hoarder struct {
	onlooker
	*wits
	hoards map[peer.ID]*hoard
	tried  int // names of clusters, to find some that a peer anchors
}

// hoard is what was asked of one peer.
type hoard struct {
	papers  []papers // of clusters that nobody serves, and which the peer anchors
	leases  int
	streams int
	begun   uint32 // messages
}

// papers is what is shown to register or watch under one cluster id.
type papers struct {
	id         security.ClusterID
	key, proof []byte
}

// How much is asked of each peer in a beat, and in all.
const (
	hoardClusters = 16
	hoardBatch    = 128
	hoardLarge    = 1024 + 128
	hoardRecord   = 8 << 10          // bytes of each of them: those of four hoarders are an eighth more than an anchor holds
	hoardLeases   = hoardLarge + 128 // the others are small, for the room that is left between
	hoardSmall    = 64               // bytes of each of these
	hoardStreams  = 64
	hoardBegun    = 64
	hoardMessage  = 1 << 20 // bytes of each message that is begun
)

// gone implements tactic.
func (r *hoarder) gone(p peer.ID) { delete(r.hoards, p) }

func (r *hoarder) of(p peer.ID) *hoard {
	if r.hoards[p] == nil {
		r.hoards[p] = &hoard{}
	}
	return r.hoards[p]
}

// beat implements tactic.
func (r *hoarder) beat() (p plan) {
	if o, ok := r.order(scenario.HoardLeases); ok {
		id := r.Cluster(o.On).Epochs(r.Seam.Clock.Now())[0].ID()
		for _, to := range nearest(id, r.peers(), anchors) {
			r.lease(&p, to, r.of(to))
		}
	}
	if _, ok := r.order(scenario.HoardMemory); ok {
		for _, to := range r.peers() {
			r.begin(&p, to, r.of(to))
		}
	}
	return p
}

// anchors is how many nodes anchor a cluster.
const anchors = 3

// nearest are the peers closest to a cluster id.
func nearest(id security.ClusterID, peers []peer.ID, count int) []peer.ID {
	target := overlay.PlaceOf(id[:])
	slices.SortFunc(peers, func(a, b peer.ID) int {
		return target.Closer(overlay.PlaceOf([]byte(a)), overlay.PlaceOf([]byte(b)))
	})
	return peers[:min(count, len(peers))]
}

// lease registers members, and watches, under ids that the peer anchors.
func (r *hoarder) lease(p *plan, to peer.ID, h *hoard) {
	for tries := 0; len(h.papers) < hoardClusters && tries < hoardClusters; tries++ {
		e := r.Network.Cluster(fmt.Sprint("hoard-", r.self, "-", r.tried)).Epochs(r.Seam.Clock.Now())[0]
		if r.tried++; nearest(e.ID(), r.peers(), 1)[0] != to {
			continue
		}
		own := papers{e.ID(), e.PublicKey(), e.Prove(r.self)}
		h.papers = append(h.papers, own)
		p.send(to, control(wire.KindWatch, &wire.Watch{Cid: own.id[:], Key: own.key, Proof: own.proof, Seq: uint64(len(h.papers))}))
		r.Acted("hoards watches", 1)
	}
	begun := h.leases
	for ; len(h.papers) > 0 && h.leases < min(hoardLeases, begun+hoardBatch); h.leases++ {
		own, n := h.papers[h.leases%len(h.papers)], uint64(h.leases+1)
		size := hoardRecord
		if h.leases >= hoardLarge {
			size = hoardSmall
		}
		l := security.Lease{
			Network: r.Network.ID(), Cluster: own.id, Peer: r.self, Member: n, Incarnation: 1, Record: make([]byte, size),
		}
		p.send(to, control(wire.KindRegister, &wire.Register{
			Cid: own.id[:], Key: own.key, Proof: own.proof, Member: n, Incarnation: 1, Record: l.Record, Seq: n, Signature: r.Seam.Key.SignLease(l),
		}))
	}
	if n := h.leases - begun; n > 0 {
		r.Acted("hoards leases", n)
	}
}

// begin opens streams, and begins messages.
func (r *hoarder) begin(p *plan, to peer.ID, h *hoard) {
	if h.streams < hoardStreams {
		h.streams += 4
		p.opens = append(p.opens, to, to, to, to)
		r.Acted("opens streams", 4)
	}
	if h.begun < hoardBegun {
		h.begun++
		part := wire.Fragment{
			Channel: 1<<31 + h.begun, First: true, Kind: wire.KindRequest, Total: hoardMessage, Payload: make([]byte, wire.MaxPayload/2),
		}
		p.send(to, frame{wire.LaneBulk, wire.KindFragment, part.AppendTo(nil)})
		r.Acted("begins messages", 1)
	}
}
