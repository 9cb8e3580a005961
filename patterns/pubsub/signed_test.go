// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
	"github.com/arke-mesh/arke/security"
)

// loneNetwork is the id of the network of lone engines.
var loneNetwork = security.NetworkID{1}

// keyOf is the key of the node of that name.
func keyOf(name string) security.NodeKey {
	k, err := security.GenerateNodeKey(rand.NewChaCha8(sha256.Sum256([]byte(name))))
	if err != nil {
		panic(err)
	}
	return k
}

// peerOf is the id of the node of that name.
func peerOf(name string) peer.ID { return keyOf(name).PeerID() }

// proven completes a path to a lone engine as the source of that name has signed it:
// through these forwarders. What was said of the proof stays; the engine's number
// is what had been addressed to it.
func proven(source string, p *wire.Path, via ...string) {
	q := &p.Proof
	q.Base, q.Behind, q.Steps = p.Number, fanout.DigestOf(fanout.NodesOf(p.Stops)), nil
	q.Serial, q.Incarnation = max(q.Serial, 1), max(q.Incarnation, 1)
	d := security.PathNode{Peer: "self", Run: p.Run, Number: q.Base}.Digest(q.Behind)
	alone := wire.PathPlace{Count: 1}
	for _, name := range slices.Backward(via) {
		q.Steps = append(q.Steps, wire.PathStep{Peer: name, Run: 1, Next: alone})
		d = security.PathNode{Peer: peer.ID(name), Run: 1}.Digest(d[:])
	}
	slices.Reverse(q.Steps)
	q.Top = alone
	copy(q.Signature[:], keyOf(source).SignPath(security.Path{
		Network: loneNetwork, Publisher: peerOf(source), Incarnation: q.Incarnation, Session: p.Session, Serial: q.Serial, Floor: q.Floor,
		Group: p.Group, Nodes: d, Certificate: fanout.CertificateHash(q.Certificate),
	}))
}

// chooses is what the publisher of that name says of a forwarder of the root group.
func chooses(publisher string, f security.RootForwarder) wire.RootForwarder {
	f.Network, f.Publisher = loneNetwork, peerOf(publisher)
	return wire.RootForwarder{Signature: keyOf(publisher).SignRootForwarder(f), Serial: f.Serial, Floor: f.Floor, Rank: f.Rank}
}
