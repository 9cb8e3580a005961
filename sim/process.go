// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// state is how far a process has come.
type state uint8

const (
	stateUp     state = iota // runs
	stateClosed              // its Transport was closed, or it crashed: peers were told
	stateSilent              // lost without a word
)

// process is one run of a node on a host: everything behind one Seam. All
// fields below are guarded by Network.mu.
type process struct {
	n           *Network
	host        *host
	incarnation uint64

	state   state
	handler overlay.TransportHandler // nil until Start
	conns   map[uint32][]*conn       // that this process believes to stand, by peer, oldest first
	lost    []*conn                  // those that stood when the process was lost without a word
	downs   map[uint32]*event        // PeerDown that has not been called yet, by peer
	dials   map[uint32]*dial         // under way, by host
	peers   map[uint32]*callQueue    // calls of handler
	book    book                     // whose address it has learned
	socket  *socket                  // where programs of its machine attach; nil = nowhere
	router  *router
	clock   *clock
	workers int // functions of Exec.Go running or queued

	calls sync.WaitGroup // of handler
}

// newProcess makes the host's next process.
func newProcess(h *host) *process {
	h.incarnation++
	p := &process{
		n: h.n, host: h, incarnation: h.incarnation,
		conns: make(map[uint32][]*conn),
		downs: make(map[uint32]*event),
		dials: make(map[uint32]*dial),
		peers: make(map[uint32]*callQueue),
	}
	p.clock = &clock{p}
	p.router = newRouter(p)
	if old := h.proc; old != nil && old.state == stateSilent {
		// The first packet that still comes for the lost process is answered
		// with a reset by the new one's host.
		old.tellRestart()
	}
	h.proc = p
	return p
}

// seam hands the five interfaces out.
func (p *process) seam() overlay.Seam {
	incarnation := strconv.FormatUint(p.incarnation, 10)
	return overlay.Seam{
		Transport: &transport{p},
		Router:    p.router,
		Clock:     p.clock,
		Rand: &random{
			seed: p.n.cfg.Seed, names: append(slices.Clone(p.host.seeds), incarnation), streams: make(map[string]*randStream), shaken: p.n.cfg.Shake,
		},
		Exec: &exec{p},
		Key:  p.host.key,
	}
}

// key makes the key of an event at this process.
func (p *process) key(k kind, peer uint32, n uint64) key {
	return key{kind: k, node: p.host.index, peer: peer, n: n}
}

// up reports whether the process runs and accepts.
func (p *process) up() bool { return p != nil && p.state == stateUp && p.handler != nil }

// attach adds a connection that stands now, and tells the handler.
func (p *process) attach(c *conn, end int) {
	other := c.ends[1-end].host
	c.open[end] = true
	p.conns[other.index] = append(p.conns[other.index], c)
	if c.local() {
		return
	}
	p.book.add(other)
	if len(p.conns[other.index]) == 1 {
		if p.n.cancel(p.downs[other.index]) {
			p.peerDown(other)
		}
		p.call(other.index, func(h overlay.TransportHandler) { h.PeerUp(other.id) })
		p.router.connected(other)
	}
}

// detach removes a connection that is gone.
func (p *process) detach(c *conn, end int) {
	other := c.ends[1-end].host
	rest := slices.DeleteFunc(slices.Clone(p.conns[other.index]), func(o *conn) bool { return o == c })
	if len(rest) > 0 {
		p.conns[other.index] = rest
		return
	}
	delete(p.conns, other.index)
	if p.state != stateUp || c.local() {
		return // nobody is told any more
	}
	p.downs[other.index] = p.n.after(0, p.key(kindPeer, other.index, c.number), func() { p.peerDown(other) })
}

// peerDown tells the handler and the router that the last connection is gone.
func (p *process) peerDown(other *host) {
	delete(p.downs, other.index)
	p.call(other.index, func(h overlay.TransportHandler) { h.PeerDown(other.id) })
	p.router.disconnected(other)
}

// all lists the connections in canonical order: closing them in that order
// queues the same events in every run.
func (p *process) all() []*conn {
	var list []*conn
	for _, index := range slices.Sorted(maps.Keys(p.conns)) {
		list = append(list, p.conns[index]...)
	}
	return list
}

// callQueue runs the handler's calls for one peer one after the other.
type callQueue struct {
	running bool
	queue   []func(overlay.TransportHandler)
}

// call has f called with the handler, on a goroutine of its own, after the
// calls for the same peer that were queued before. Once the Transport closes
// or the node has crashed, no call begins.
func (p *process) call(peer uint32, f func(overlay.TransportHandler)) {
	if !p.up() {
		return
	}
	q := p.peers[peer]
	if q == nil {
		q = &callQueue{}
		p.peers[peer] = q
	}
	q.queue = append(q.queue, f)
	if q.running {
		return
	}
	q.running = true
	p.calls.Go(func() {
		p.n.mu.Lock()
		defer p.n.mu.Unlock()
		for len(q.queue) > 0 && p.up() {
			next := q.queue[0]
			q.queue = q.queue[1:]
			p.n.mu.Unlock()
			next(p.handler)
			p.n.mu.Lock()
		}
		q.running = false
	})
}

// host is a simulated machine: it outlives the node that runs on it.
type host struct {
	n      *Network
	index  uint32
	name   string
	key    security.NodeKey
	id     peer.ID
	place  *place
	seeds  []string // names of its random streams, which another peer does not share
	number int      // in the order in which hosts are made: nothing may be sorted by it
	ip     string   // guarded by Network.mu, as addr
	addr   string   // multiaddr without /p2p

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
	ip := n.newIP(name, index)
	key := n.newKey(name)
	if chosen, ok := n.chosen[name]; ok {
		key = chosen
	}
	return n.add(name, index, key, ip)
}

// newKey makes the key that some names decide.
func (n *Network) newKey(names ...string) security.NodeKey {
	var seed [sha256.Size]byte
	newPCG(n.cfg.Seed, append([]string{"key"}, names...)...).read(seed[:])
	key, err := security.GenerateNodeKey(bytes.NewReader(seed[:]))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return key
}

// add makes a host, which has the name and the address from now on.
func (n *Network) add(name string, index uint32, key security.NodeKey, ip string) *host {
	id := key.PeerID()
	h := &host{n: n, index: index, number: len(n.numbered), name: name, seeds: []string{name}, key: key, id: id, paths: make(map[uint32]*path)}
	h.place = placeAt(id, sha256.Sum256([]byte(id)), h)
	h.skew.Store(&skew{})
	at, _ := slices.BinarySearchFunc(n.hosts, index, func(h *host, i uint32) int { return cmp.Compare(h.index, i) })
	n.hosts = slices.Insert(n.hosts, at, h)
	n.numbered = append(n.numbered, h)
	n.byIndex[index], n.byName[name], n.byPeer[id] = h, h, h
	n.settle(h, ip)
	n.trace.names[index] = name
	return h
}

// settle gives a host an address, to which its name leads from now on.
func (n *Network) settle(h *host, ip string) {
	h.ip, h.addr = ip, "/ip4/"+ip+"/tcp/4001"
	n.byAddr[h.addr], n.byAddr[ip+":4001"], n.byAddr[h.name+":4001"] = h, h, h
}

// Renew makes the node of that name, which does not run, another peer at the same
// address: it has a new key, the first incarnation, and nobody's connections. Faults of
// its links and of its clock stand. It panics if the node runs.
func (n *Network) Renew(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.host(name)
	if old.proc != nil && old.proc.state == stateUp {
		panic("sim: " + name + " still runs: crash or close it before it can be another peer")
	}
	if old.proc != nil && old.proc.state == stateSilent {
		old.proc.tellRestart()
	}
	n.renewed++
	h := n.add(name, n.newIndex(fmt.Sprint(name, " ", n.renewed)), n.newKey(name, fmt.Sprint(n.renewed)), old.ip)
	h.admission, h.fault, h.seeds = old.admission, old.fault, []string{name, "peer", fmt.Sprint(n.renewed)}
	h.skew.Store(old.skew.Load())
	for _, other := range slices.Clone(n.hosts) {
		if other == old || other == h {
			continue
		}
		n.inherit(old.paths[other.index], h, other)
		n.inherit(other.paths[old.index], other, h)
	}
	for _, r := range n.rules {
		r.from[h.index], r.to[h.index] = r.from[old.index], r.to[old.index]
	}
}

// inherit gives the path from a to b the model, and what blocks it, of another one.
func (n *Network) inherit(from *path, a, b *host) {
	if from == nil {
		return
	}
	p := n.path(a, b)
	p.link.SetModel(from.link.Model())
	p.block(false, from.cut)
	p.block(true, from.clogged)
}

// newIP gives a host its address.
func (n *Network) newIP(name string, index uint32) string {
	home, ok := n.homes[name]
	if !ok {
		return fmt.Sprintf("10.%d.%d.%d", index>>16&255, index>>8&255, index&255)
	}
	for low := index; ; low++ {
		if ip := fmt.Sprintf("%s.%d.%d", home, low>>8&255, low&255); n.byAddr[ip+":4001"] == nil {
			return ip
		}
	}
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
