// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// A publisher signs the digest of its tree when it tells the heads of branches who
// is behind them. Whoever knows its own place in the tree, and the digests beside
// the way to it, finds that digest again: that is the proof which forwarders hand on.

// signedNode is r as its publisher has signed it.
func signedNode(r *Receiver) security.PathNode {
	return security.PathNode{Peer: r.Peer, Run: r.Run, Number: r.Base}
}

// branchDigests returns the digests of the branches into which a node cuts those
// behind it.
func branchDigests(behind []security.PathNode) []security.PathDigest {
	heads := min(len(behind), env.FanOut)
	out := make([]security.PathDigest, heads)
	for i := range out {
		out[i] = behind[i].Digest(DigestOf(part(behind[heads:], i, heads)))
	}
	return out
}

// DigestOf is what a node has for those behind it; nil if there are none.
func DigestOf(behind []security.PathNode) []byte {
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

// Lineage is the place of this node in the tree of somebody else, from which that of
// everybody behind it follows. It is immutable.
type Lineage struct {
	proof  wire.PathProof // of this node
	self   security.PathNode
	behind []security.PathNode
	ds     []security.PathDigest // of the branches they are cut into
}

// NewLineage is the place that a path gives to self.
func NewLineage(self peer.ID, p *wire.Path) *Lineage {
	behind := NodesOf(p.Stops)
	return &Lineage{
		proof: p.Proof, self: security.PathNode{Peer: self, Run: p.Run, Number: p.Proof.Base}, behind: behind, ds: branchDigests(behind),
	}
}

// NodesOf returns stops as they were signed.
func NodesOf(stops []wire.Stop) []security.PathNode {
	out := make([]security.PathNode, 0, len(stops))
	for i := range stops {
		s := &stops[i]
		out = append(out, security.PathNode{Peer: peer.ID(s.Peer), Run: s.Run, Number: s.Number})
	}
	return out
}

// proofFor returns the proof of the node at that index among those behind this one.
func (n *Lineage) proofFor(at int) wire.PathProof {
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
			p.Base, p.Behind = behind[i].Number, DigestOf(next)
			return p
		}
		at -= heads + i*len(rest)/heads
		from, behind = behind[i], next
		ds = branchDigests(behind)
	}
}

// Trace returns the statement that the source has signed if the path is as its proof
// says, and the forwarders that it names, the nearest first.
func Trace(b *env.Base, source peer.ID, p *wire.Path) (signed security.Path, via []peer.ID, ok bool) {
	behind := p.Proof.Behind
	if len(p.Stops) > 0 && string(DigestOf(NodesOf(p.Stops))) != string(behind) {
		return signed, nil, false
	}
	d := security.PathNode{Peer: b.Self, Run: p.Run, Number: p.Proof.Base}.Digest(behind)
	for _, s := range slices.Backward(p.Proof.Steps) {
		joined, ok := join(d, &s.Next)
		if !ok {
			return signed, nil, false
		}
		via = append(via, peer.ID(s.Peer))
		d = security.PathNode{Peer: peer.ID(s.Peer), Run: s.Run, Number: s.Number}.Digest(joined[:])
	}
	signed = security.Path{
		Network: b.Cfg.Network, Publisher: source, Incarnation: p.Proof.Incarnation, Session: p.Session,
		Serial: p.Proof.Serial, Floor: p.Proof.Floor, Group: p.Group, Certificate: CertificateHash(p.Proof.Certificate),
	}
	signed.Nodes, ok = join(d, &p.Proof.Top)
	return signed, via, ok
}

// Signer signs what a publisher tells the heads of its branches. Its owner's lock
// guards it.
type Signer struct {
	*env.Base
	Group     string
	Addressed uint64 // messages of the group, and those that are missing from others
}

// sign signs the paths of several branches at once, as they are now.
func (s *Signer) sign(session uint64, bs []*Branch) {
	ds := make([]security.PathDigest, 0, len(bs))
	rights, certificate := s.Cfg.Rights.Version(), s.Cfg.Rights.Certificate()
	for _, b := range bs {
		b.compact()
		b.rights = rights
		b.Signed, b.signedAt, b.fresh = slices.Clone(b.Stops), s.Addressed, true
		behind := make([]security.PathNode, 0, len(b.Signed))
		for _, r := range b.Signed {
			r.Base = r.Number
			behind = append(behind, signedNode(r))
		}
		b.Head.Base = b.Head.Number
		b.proof = wire.PathProof{Base: b.Head.Base, Behind: DigestOf(behind), Incarnation: s.Cfg.Incarnation, Certificate: certificate}
		ds = append(ds, signedNode(b.Head).Digest(b.proof.Behind))
	}
	path := security.Path{
		Network: s.Cfg.Network, Publisher: s.Self, Incarnation: s.Cfg.Incarnation, Session: session, Group: s.Group,
		Nodes: security.JoinPaths(ds), Certificate: CertificateHash(certificate),
	}
	path.Serial, path.Floor = s.Serials.Sign()
	signature := s.Cfg.Key.SignPath(path)
	s.Counts.Signatures.Add(1)
	for i, b := range bs {
		b.proof.Serial, b.proof.Floor, b.proof.Top = path.Serial, path.Floor, placeOf(ds, i)
		copy(b.proof.Signature[:], signature)
	}
}

// mustTell says whether the head of a branch has to be told who is behind it before
// the next message: it does not know, or it may not, or what was signed will soon
// not reach as far as the numbers are, or shows another certificate.
func (s *Signer) mustTell(b *Branch, losses uint64) bool {
	return b.Forwards() && (!b.Known || b.told != losses || len(b.Skips) > env.MaxSkips || s != nil && s.outdated(b))
}

func (s *Signer) outdated(b *Branch) bool {
	return s.Addressed-b.signedAt > env.MaxLead/2 || b.rights != s.Cfg.Rights.Version()
}

// unsigned returns b, and those of others that have to be told as well, if b has to
// be signed.
func (s *Signer) unsigned(b *Branch, others []*Branch) (bs []*Branch) {
	if b.fresh && !s.outdated(b) {
		return nil
	}
	bs = append(bs, b)
	for _, o := range others {
		if o != b && o.Forwards() && !o.Known && !o.fresh {
			bs = append(bs, o)
		}
	}
	return bs
}

// CertificateHash stands for a certificate in what is signed; zero = there is none.
func CertificateHash(certificate []byte) (h security.CertificateHash) {
	if len(certificate) > 0 {
		h = security.HashCertificate(certificate)
	}
	return h
}
