// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// host is a simulated machine: it outlives the node that runs on it.
type host struct {
	n       *Network
	index   uint32
	name    string
	private ed25519.PrivateKey
	id      peer.ID
	place   *place
	number  int    // in the order in which hosts are made: nothing may be sorted by it
	addr    string // multiaddr without /p2p

	skew atomic.Pointer[skew]

	// Guarded by Network.mu.
	proc        *process  // the node that runs or ran last; nil before the first
	admission   Admission // nil = accepts everybody
	incarnation uint64
	paths       map[uint32]*path // that begin here, by the index of their end
	knownAt     book             // whose routers know it, or did
	local       bool             // a client's: it has no part in the network
	paused      bool
	fault       string   // of the router
	parked      []*event // of a paused node, in order
}

// host returns the host of that name, which is made if need be.
func (n *Network) host(name string) *host {
	if h := n.byName[name]; h != nil {
		return h
	}
	index := n.newIndex(name)
	ip := fmt.Sprintf("10.%d.%d.%d", index>>16&255, index>>8&255, index&255)
	var seed [ed25519.SeedSize]byte
	newPCG(n.cfg.Seed, "key", name).read(seed[:])
	private := ed25519.NewKeyFromSeed(seed[:])
	public, err := crypto.UnmarshalEd25519PublicKey(private.Public().(ed25519.PublicKey))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	id, err := peer.IDFromPublicKey(public)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	h := &host{
		n: n, index: index, number: len(n.numbered), name: name, private: private, id: id,
		addr: "/ip4/" + ip + "/tcp/4001", paths: make(map[uint32]*path),
	}
	h.place = placeAt(id, sha256.Sum256([]byte(id)), h)
	h.skew.Store(&skew{})
	at, _ := slices.BinarySearchFunc(n.hosts, index, func(h *host, i uint32) int { return cmp.Compare(h.index, i) })
	n.hosts = slices.Insert(n.hosts, at, h)
	n.numbered = append(n.numbered, h)
	n.byIndex[index], n.byName[name], n.byPeer[id] = h, h, h
	n.byAddr[h.addr], n.byAddr[ip+":4001"], n.byAddr[name+":4001"] = h, h, h
	n.trace.names[index] = name
	return h
}

// newIndex gives a host the number that its name decides, and not the order in
// which hosts are made: 24 bits, so that it makes an address, and not 0, which
// is nobody.
func (n *Network) newIndex(name string) uint32 {
	index := uint32(sumBytes([]byte(name)) >> 40)
	for index == 0 || n.byIndex[index] != nil {
		index = (index + 1) & (1<<24 - 1)
	}
	return index
}

// resolve finds the host that an address names: a multiaddr with or without
// /p2p, "10.0.0.1:4001", or "name:4001" as DNS would resolve it. The second
// result is the peer id in the address, if there is one.
func (n *Network) resolve(addr string) (*host, peer.ID) {
	base, id, _ := strings.Cut(addr, "/p2p/")
	want, _ := peer.Decode(id)
	return n.byAddr[base], want
}
