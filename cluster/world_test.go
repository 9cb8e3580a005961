// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// world is a network of control cores without goroutines: messages travel in
// the order of their link, everything else happens in a random order that the
// seed decides.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	now       time.Time
	nodes     []*worldNode
	byID      map[peer.ID]*worldNode
	links     map[[2]peer.ID]*worldLink
	soon      []func() // lookups and dials under way
	next      uint64   // session
	delivered int
	steps     int  // of all nodes
	lossy     bool // now and then a message finds its lane full
	dim       bool // routing tables know only some of the nodes; lookups find all
	batches   bool // what waits for a node arrives together, as it does where there is much
	shards    shardLimits
}

type worldNode struct {
	w           *world
	id          peer.ID
	addr        string // that its connections show; empty = nobody knows
	key         security.NodeKey
	up          bool
	side        int // of a partition
	incarnation uint64
	c           *control
	known       map[peer.ID]bool // the routing table
	views       map[string]*View
	pools       map[string]*pool
	acked       map[MemberID]error
	members     map[MemberID]string // what it should serve
	holds       map[peer.ID]int
	inbox       map[peer.ID][]event // by sender, in order
}

type worldLink struct {
	up      bool
	session uint64
}

// testPeer is the peer id of testKey.
func testPeer(name string) peer.ID { return testKey(name).PeerID() }

// testKey makes a node's key of its name. By their peer ids, A, B and C lie in one half of the key
// space, D, E, F and "me" in the other, so that there are ids to which A, B and
// C are closest.
func testKey(name string) security.NodeKey {
	if made, ok := testKeysMade.Load(name); ok {
		return made.(security.NodeKey)
	}
	key := makeTestKey(name)
	testKeysMade.Store(name, key)
	return key
}

// testKeysMade has what testKey has returned: making keys took longer than all the rest.
var testKeysMade sync.Map

func makeTestKey(name string) security.NodeKey {
	for i := 0; ; i++ {
		h := sha256.Sum256([]byte(fmt.Sprint(name, i)))
		key, err := security.GenerateNodeKey(bytes.NewReader(h[:]))
		if err != nil {
			panic(err)
		}
		p := key.PeerID()
		lower := sha256.Sum256([]byte(p))[0] < 0x80
		switch name {
		case "A", "B", "C":
			if !lower {
				continue
			}
		case "D", "E", "F", "me":
			if lower {
				continue
			}
		}
		return key
	}
}

// testNetwork is the network of all tests.
var testNetwork = security.NetworkID{1}

func testKeys(name string) *security.Cluster {
	return security.NewCluster(name, []security.KeyVersion{{Version: 1, Key: security.Key(sha256.Sum256([]byte("key")))}})
}

func newWorld(t *testing.T, seed uint64, n int) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		byID: make(map[peer.ID]*worldNode), links: make(map[[2]peer.ID]*worldLink),
	}
	for i := range n {
		w.addNode(fmt.Sprintf("node%d", i))
	}
	return w
}

// addNode makes a node that is down.
func (w *world) addNode(name string) *worldNode {
	n := &worldNode{w: w, id: testPeer(name), key: testKey(name), members: make(map[MemberID]string)}
	w.nodes = append(w.nodes, n)
	w.byID[n.id] = n
	return n
}

func (w *world) start(n *worldNode) {
	n.up = true
	n.incarnation++
	n.known = map[peer.ID]bool{}
	n.views = make(map[string]*View)
	n.pools = make(map[string]*pool)
	n.acked = make(map[MemberID]error)
	n.holds = make(map[peer.ID]int)
	n.inbox = make(map[peer.ID][]event)
	n.c = newControl(w.now, controlConfig{
		key: n.key, network: testNetwork, incarnation: n.incarnation, zone: "z",
		addrs:   func() []string { return []string{cmp.Or(n.addr, "/ip4/127.0.0.1/tcp/1")} },
		nearest: func(k overlay.Key, c int) []peer.ID { return n.nearest(security.ClusterID(k), c) },
		walls:   func() []time.Time { return []time.Time{w.now} },
		keys:    testKeys, rand: testReader{w.rng}, seed: w.rng.Uint64(), drops: drop.New(dropReasons), shards: w.shards,
	})
	w.meet()
}

type testReader struct{ r *rand.Rand }

func (r testReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.r.Uint32())
	}
	return len(p), nil
}

// closest is what a lookup finds.
func (w *world) closest(n *worldNode, cid security.ClusterID) []peer.ID {
	var all []peer.ID
	for _, o := range w.nodes {
		if o.up && o.side == n.side {
			all = append(all, o.id)
		}
	}
	all = byDistance(cid, all)
	return all[:min(nearestCount, len(all))]
}

func (n *worldNode) nearest(cid security.ClusterID, k int) []peer.ID {
	all := byDistance(cid, append(slices.Collect(maps.Keys(n.known)), n.id))
	return all[:min(k, len(all))]
}

// meet makes routing tables true: everybody knows who is up on the same side.
func (w *world) meet() {
	for _, n := range w.nodes {
		if !n.up {
			continue
		}
		changed := false
		for _, o := range w.nodes {
			if o == n {
				continue
			}
			reachable := o.up && o.side == n.side && (!w.dim || (n.id[5]+o.id[5])%3 == 0)
			if reachable != n.known[o.id] {
				changed = true
				if reachable {
					n.known[o.id] = true
				} else {
					delete(n.known, o.id)
				}
			}
		}
		if changed {
			n.do(tableEvent{})
		}
	}
}

func pair(a, b peer.ID) [2]peer.ID {
	if a > b {
		a, b = b, a
	}
	return [2]peer.ID{a, b}
}

func (w *world) link(a, b peer.ID) *worldLink {
	l := w.links[pair(a, b)]
	if l == nil {
		l = &worldLink{}
		w.links[pair(a, b)] = l
	}
	return l
}

// do gives a node an event and does what it asks for.
func (n *worldNode) do(events ...event) {
	for _, e := range events {
		n.c.step(n.w.now, e)
	}
	actions := n.c.finish(n.w.now)
	if n.w.steps++; n.w.steps%4 == 0 && !n.w.batches { // what is wrong stays so for a while
		requireMerged(n.w.t, n.c.watcher)
	}
	for _, a := range actions {
		n.perform(a)
	}
}

func (n *worldNode) perform(a action) {
	w := n.w
	switch a := a.(type) {
	case sendAction:
		body, err := encode(a.msg)
		require.NoError(w.t, err)
		o := w.byID[a.to]
		if o == nil || !o.up || !w.link(n.id, a.to).up || (w.lossy && w.rng.IntN(20) == 0) {
			n.c.step(w.now, unsentEvent(a))
			return
		}
		m, err := decode(a.msg.kind(), body)
		require.NoError(w.t, err)
		o.inbox[n.id] = append(o.inbox[n.id], frameEvent{n.id, m, len(body)})
		n.c.step(w.now, sentEvent{a.to, a.msg, w.link(n.id, a.to).session})
	case openAction:
		life := n.incarnation
		w.soon = append(w.soon, func() { w.connect(n, a.to, life) })
	case holdAction:
		if a.on {
			n.holds[a.peer]++
		} else {
			n.holds[a.peer]--
		}
		require.Contains(w.t, []int{0, 1}, n.holds[a.peer])
	case needAction:
	case lookupAction:
		life := n.incarnation
		w.soon = append(w.soon, func() {
			if n.up && n.incarnation == life {
				n.do(lookedUpEvent{a.cid, w.closest(n, a.cid)})
			}
		})
	case publishAction:
		n.views[a.name] = a.view
	case registeredAction:
		n.acked[a.member] = a.err
	case expireAction:
		n.c.step(w.now, forgetEvent(a))
		delete(n.views, a.name)
	}
}

// connect ends a dial.
func (w *world) connect(n *worldNode, to peer.ID, life uint64) {
	if !n.up || n.incarnation != life {
		return
	}
	l := w.link(n.id, to)
	if l.up {
		return
	}
	o := w.byID[to]
	if o == nil || !o.up || o.side != n.side {
		n.do(linkEvent{PeerEvent{Type: PeerDialFailed, Peer: to}})
		return
	}
	w.next++
	l.up, l.session = true, w.next
	n.inbox[to] = append(n.inbox[to], linkEvent{PeerEvent{Type: PeerUp, Peer: to, Session: l.session, Addr: o.addr}})
	o.inbox[n.id] = append(o.inbox[n.id], linkEvent{PeerEvent{Type: PeerUp, Peer: n.id, Session: l.session, Addr: n.addr}})
}

// cut breaks a link: of what is on the way in each direction, only a part
// arrives.
func (w *world) cut(a, b *worldNode) {
	l := w.link(a.id, b.id)
	if !l.up {
		return
	}
	l.up = false
	for _, x := range [][2]*worldNode{{a, b}, {b, a}} {
		to, from := x[0], x[1].id
		if !to.up {
			continue
		}
		q := to.inbox[from]
		keep := w.rng.IntN(len(q) + 1)
		for keep > 0 || len(q) > 0 {
			// A link that came up is told, whatever is lost after it.
			if keep < len(q) {
				if e, ok := q[keep].(linkEvent); ok && e.Type == PeerUp {
					keep++
					continue
				}
			}
			break
		}
		rest := slices.DeleteFunc(slices.Clone(q[keep:]), func(e event) bool {
			_, frame := e.(frameEvent)
			return frame
		})
		to.inbox[from] = append(append(q[:keep:keep], rest...), linkEvent{PeerEvent{Type: PeerDown, Peer: from}})
	}
}

func (w *world) crash(n *worldNode) {
	for _, o := range w.nodes {
		if o != n {
			w.cut(n, o)
		}
	}
	n.up = false
	w.meet()
}

// deliver does one thing that is under way, chosen at random, and says whether
// there was any.
func (w *world) deliver() bool {
	type choice struct {
		n    *worldNode
		from peer.ID
	}
	var choices []choice
	for _, n := range w.nodes {
		if !n.up {
			continue
		}
		var from []peer.ID
		for p, q := range n.inbox {
			if len(q) > 0 {
				from = append(from, p)
			}
		}
		slices.Sort(from)
		for _, p := range from {
			choices = append(choices, choice{n, p})
		}
	}
	total := len(choices) + len(w.soon)
	if total == 0 {
		return false
	}
	i := w.rng.IntN(total)
	if i < len(w.soon) {
		f := w.soon[i]
		w.soon = slices.Delete(w.soon, i, i+1)
		f()
		return true
	}
	c := choices[i-len(w.soon)]
	if w.batches {
		c.n.all()
		return true
	}
	e := c.n.inbox[c.from][0]
	c.n.inbox[c.from] = c.n.inbox[c.from][1:]
	c.n.do(e)
	return true
}

// all has n take in all that waits for it.
func (n *worldNode) all() {
	var events []event
	for _, o := range n.w.nodes {
		events = append(events, n.inbox[o.id]...)
		delete(n.inbox, o.id)
	}
	n.do(events...)
}

// settle delivers everything under way, without time passing.
func (w *world) settle() {
	for range 20_000 {
		w.delivered++
		if !w.deliver() {
			return
		}
	}
	w.t.Fatal("the network never comes to rest")
}

// run lets time pass; everything under way arrives at once.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for {
		w.settle()
		var next alarm
		for _, n := range w.nodes {
			if n.up && !n.c.next().IsZero() {
				next.plan(n.c.next())
			}
		}
		if next.at.IsZero() || next.at.After(end) {
			w.now = end
			return
		}
		if next.at.After(w.now) {
			w.now = next.at
		}
		for _, n := range w.nodes {
			if n.up && due(n.c.next(), w.now) {
				n.do()
			}
		}
	}
}

func (n *worldNode) watch(name string) {
	n.pools[name] = newPool()
	n.views[name] = &View{pool: n.pools[name]}
	n.do(watchEvent{name, n.pools[name]})
}

func (n *worldNode) register(name string, m MemberID) {
	n.members[m] = name
	n.do(registerEvent{name, Registration{Member: m, Capacity: 1, MaxMessage: 1 << 20}})
}

func (n *worldNode) unregister(m MemberID) {
	name := n.members[m]
	delete(n.members, m)
	n.do(unregisterEvent{name, m})
}

// truth lists who serves name and can be reached from n.
func (n *worldNode) truth(name string) []string {
	var all []leaseKey
	for _, o := range n.w.nodes {
		if !o.up || o.side != n.side {
			continue
		}
		for m, served := range o.members {
			if served == name {
				all = append(all, leaseKey{o.id, m})
			}
		}
	}
	slices.SortFunc(all, compareLeaseKeys)
	return keyStrings(all)
}

func keyStrings(keys []leaseKey) []string {
	out := []string{}
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%v@%x", k.member, k.peer[2:6]))
	}
	return out
}

// seen lists whom n's view of name has.
func (n *worldNode) seen(name string) []string {
	var all []leaseKey
	for _, m := range n.views[name].Members {
		all = append(all, leaseKey{m.Peer, m.ID})
	}
	return keyStrings(all)
}

func (n *worldNode) states(name string) []string {
	out := []string{}
	for _, m := range n.views[name].Members {
		out = append(out, m.State())
	}
	return out
}

// Which random stories the model test goes through.
var (
	seeds = flag.Int("seeds", 30, "random stories of the model test")
	first = flag.Int("first", 0, "number of the first one")
)

// Whatever happened before, once all is well again every caller sees exactly
// the members there are.
func TestEveryViewBecomesTheTruthAfterRandomTrouble(t *testing.T) {
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			trouble(t, uint64(seed), shardLimits{})
		})
	}
}

// The same is so where three members are too many for one id, so that clusters are
// sharded, their shards again, and become whole, all the time.
func TestEveryViewOfShardsBecomesTheTruthAfterRandomTrouble(t *testing.T) {
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			trouble(t, uint64(seed), shardLimits{whole: 3, deputies: 2, most: 3, few: 2, quiet: 4 * time.Second})
		})
	}
}

func trouble(t *testing.T, seed uint64, shards shardLimits) {
	w := newWorld(t, seed, 1+int(seed)%9)
	w.shards = shards
	w.lossy, w.dim = seed%3 == 1, seed%5 >= 3
	names := []string{"geo", "zones"}
	if seed%2 == 0 { // an epoch ends in the middle of it
		w.now = testKeys(names[0]).NextChange(w.now).Add(-20 * time.Second)
	}
	for i, n := range w.nodes {
		if seed%7 >= 2 { // they are at home in up to four networks
			n.addr = fmt.Sprintf("/ip4/%s.0.1/tcp/1", [...]string{"66.1", "81.2", "66.1", "10.0", "82.3"}[i%int(seed%7-1)])
		}
		w.start(n)
	}
	next := MemberID(seed * 1000)
	for range 150 {
		next++
		w.incident(names[w.rng.IntN(len(names))], next)
		for range w.rng.IntN(30) {
			w.deliver()
		}
	}
	w.lossy = false
	for _, n := range w.nodes {
		n.side = 0
		if !n.up {
			clear(n.members)
			w.start(n)
		}
	}
	w.meet()
	for _, n := range w.nodes {
		for _, o := range w.nodes {
			n.do(linkEvent{PeerEvent{Type: PeerRecovered, Peer: o.id}})
		}
	}
	w.run(2 * time.Minute)
	t.Log(w.delivered, "events")
	for i, n := range w.nodes {
		for _, name := range names {
			if n.views[name] == nil {
				continue
			}
			v := n.views[name]
			require.Equal(t, n.truth(name), n.seen(name), "node %d, cluster %s, seed %d", i, name, seed)
			require.True(t, v.Known && v.Complete, "node %d, cluster %s, seed %d: %+v", i, name, seed, v)
			for _, s := range n.states(name) {
				require.Equal(t, "live", s)
			}
		}
		for m := range n.members {
			require.Contains(t, n.acked, m)
			require.NoError(t, n.acked[m])
		}
	}
}

// incident has something happen somewhere.
func (w *world) incident(name string, next MemberID) {
	n, o := w.nodes[w.rng.IntN(len(w.nodes))], w.nodes[w.rng.IntN(len(w.nodes))]
	switch k := w.rng.IntN(20); {
	case !n.up:
		clear(n.members)
		w.start(n)
	case k < 4:
		n.register(name, next)
	case k < 7:
		if m := slices.Sorted(maps.Keys(n.members)); len(m) > 0 {
			n.unregister(m[w.rng.IntN(len(m))])
		}
	case k < 11:
		if n.views[name] == nil {
			n.watch(name)
		}
	case k < 12:
		w.crash(n)
	case k < 14:
		w.cut(n, o)
	case k < 15:
		n.side = 1 - n.side
		for _, o := range w.nodes {
			if o.side != n.side {
				w.cut(n, o)
			}
		}
		w.meet()
	case k < 17:
		kind := PeerSuspect
		if w.rng.IntN(2) == 0 {
			kind = PeerRecovered
		}
		n.do(linkEvent{PeerEvent{Type: kind, Peer: o.id}})
	case k < 19:
		w.run(time.Duration(w.rng.IntN(10_000)) * time.Millisecond)
	}
}
