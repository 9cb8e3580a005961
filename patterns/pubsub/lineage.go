// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// A publisher signs the digest of its tree when it tells the heads of branches who
// is behind them. Whoever knows its own place in the tree, and the digests beside
// the way to it, finds that digest again: that is the proof which forwarders hand on.

// signedNode is r as its publisher has signed it.
func signedNode(r *receiver) security.PathNode {
	return security.PathNode{Peer: r.peer, Run: r.run, Number: r.base}
}

// branchDigests returns the digests of the branches into which a node cuts those
// behind it.
func branchDigests(behind []security.PathNode) []security.PathDigest {
	heads := min(len(behind), fanOut)
	out := make([]security.PathDigest, heads)
	for i := range out {
		out[i] = behind[i].Digest(digestOf(part(behind[heads:], i, heads)))
	}
	return out
}

// digestOf is what a node has for those behind it; nil if there are none.
func digestOf(behind []security.PathNode) []byte {
	if len(behind) == 0 {
		return nil
	}
	d := security.JoinPaths(branchDigests(behind))
	return d[:]
}

// placeOf is the place of one branch among all.
func placeOf(ds []security.PathDigest, index int) wire.PathPlace {
	p := wire.PathPlace{Index: uint8(index), Count: uint8(len(ds))}
	for _, d := range security.AuditPath(ds, index) {
		p.Audit = append(p.Audit, d)
	}
	return p
}

// join is what stands for all the branches of which one, in that place, has the
// digest d.
func join(d security.PathDigest, p *wire.PathPlace) (security.PathDigest, bool) {
	audit := make([]security.PathDigest, 0, len(p.Audit))
	for _, a := range p.Audit {
		audit = append(audit, a)
	}
	return security.JoinPath(d, int(p.Index), int(p.Count), audit)
}

// lineage is the place of this node in the tree of somebody else, from which that of
// everybody behind it follows. It is immutable.
type lineage struct {
	proof  wire.PathProof // of this node
	self   security.PathNode
	behind []security.PathNode
	ds     []security.PathDigest // of the branches they are cut into
}

func newLineage(self peer.ID, p *wire.Path) *lineage {
	behind := nodesOf(p.Stops)
	return &lineage{
		proof: p.Proof, self: security.PathNode{Peer: self, Run: p.Run, Number: p.Proof.Base}, behind: behind, ds: branchDigests(behind),
	}
}

// nodesOf returns stops as they were signed.
func nodesOf(stops []wire.Stop) []security.PathNode {
	out := make([]security.PathNode, 0, len(stops))
	for i := range stops {
		s := &stops[i]
		out = append(out, security.PathNode{Peer: peer.ID(s.Peer), Run: s.Run, Number: s.Number})
	}
	return out
}

// proofFor returns the proof of the node at that index among those behind this one.
func (n *lineage) proofFor(at int) wire.PathProof {
	p := n.proof
	p.Steps = slices.Clone(n.proof.Steps)
	from, behind, ds := n.self, n.behind, n.ds
	for {
		heads := len(ds)
		i, rest := at, behind[heads:]
		if at >= heads {
			for i = 0; at-heads >= (i+1)*len(rest)/heads; i++ {
			}
		}
		p.Steps = append(p.Steps, wire.PathStep{Peer: string(from.Peer), Run: from.Run, Number: from.Number, Next: placeOf(ds, i)})
		next := part(rest, i, heads)
		if at < heads {
			p.Base, p.Behind = behind[i].Number, digestOf(next)
			return p
		}
		at -= heads + i*len(rest)/heads
		from, behind = behind[i], next
		ds = branchDigests(behind)
	}
}

// trace returns the statement that the source has signed if the path is as its proof
// says, and the forwarders that it names, the nearest first.
func trace(b *base, source peer.ID, p *wire.Path) (signed security.Path, via []peer.ID, ok bool) {
	behind := p.Proof.Behind
	if len(p.Stops) > 0 && string(digestOf(nodesOf(p.Stops))) != string(behind) {
		return signed, nil, false
	}
	d := security.PathNode{Peer: b.self, Run: p.Run, Number: p.Proof.Base}.Digest(behind)
	for _, s := range slices.Backward(p.Proof.Steps) {
		joined, ok := join(d, &s.Next)
		if !ok {
			return signed, nil, false
		}
		via = append(via, peer.ID(s.Peer))
		d = security.PathNode{Peer: peer.ID(s.Peer), Run: s.Run, Number: s.Number}.Digest(joined[:])
	}
	signed = security.Path{
		Network: b.cfg.Network, Publisher: source, Incarnation: p.Proof.Incarnation, Session: p.Session,
		Serial: p.Proof.Serial, Floor: p.Proof.Floor, Group: p.Group, Certificate: certificateHash(p.Proof.Certificate),
	}
	signed.Nodes, ok = join(d, &p.Proof.Top)
	return signed, via, ok
}

// signer signs what a publisher tells the heads of its branches. Its owner's lock
// guards it.
type signer struct {
	*base
	group     string
	addressed uint64 // messages of the group, and those that are missing from others
}

// sign signs the paths of several branches at once, as they are now.
func (s *signer) sign(session uint64, bs []*branch) {
	ds := make([]security.PathDigest, 0, len(bs))
	rights, certificate := s.cfg.Rights.Version(), s.cfg.Rights.Certificate()
	for _, b := range bs {
		b.compact()
		b.rights = rights
		b.signed, b.signedAt, b.fresh = slices.Clone(b.stops), s.addressed, true
		behind := make([]security.PathNode, 0, len(b.signed))
		for _, r := range b.signed {
			r.base = r.number
			behind = append(behind, signedNode(r))
		}
		b.head.base = b.head.number
		b.proof = wire.PathProof{Base: b.head.base, Behind: digestOf(behind), Incarnation: s.cfg.Incarnation, Certificate: certificate}
		ds = append(ds, signedNode(b.head).Digest(b.proof.Behind))
	}
	path := security.Path{
		Network: s.cfg.Network, Publisher: s.self, Incarnation: s.cfg.Incarnation, Session: session, Group: s.group,
		Nodes: security.JoinPaths(ds), Certificate: certificateHash(certificate),
	}
	path.Serial, path.Floor = s.serials.sign()
	signature := s.cfg.Key.SignPath(path)
	s.counts.signatures.Add(1)
	for i, b := range bs {
		b.proof.Serial, b.proof.Floor, b.proof.Top = path.Serial, path.Floor, placeOf(ds, i)
		copy(b.proof.Signature[:], signature)
	}
}

// mustTell says whether the head of a branch has to be told who is behind it before
// the next message: it does not know, or it may not, or what was signed will soon
// not reach as far as the numbers are, or shows another certificate.
func (s *signer) mustTell(b *branch, losses uint64) bool {
	return b.forwards() && (!b.known || b.told != losses || len(b.skips) > maxSkips || s != nil && s.outdated(b))
}

func (s *signer) outdated(b *branch) bool {
	return s.addressed-b.signedAt > maxLead/2 || b.rights != s.cfg.Rights.Version()
}

// unsigned returns b, and those of others that have to be told as well, if b has to
// be signed.
func (s *signer) unsigned(b *branch, others []*branch) (bs []*branch) {
	if b.fresh && !s.outdated(b) {
		return nil
	}
	bs = append(bs, b)
	for _, o := range others {
		if o != b && o.forwards() && !o.known && !o.fresh {
			bs = append(bs, o)
		}
	}
	return bs
}
