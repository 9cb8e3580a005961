// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// fakeLatency is one way.
const fakeLatency = 10 * time.Millisecond

// fakeNet connects Clusters in memory, inside a synctest bubble: every link
// has the same latency and keeps its order.
type fakeNet struct {
	t     *testing.T
	mu    sync.Mutex
	hosts map[peer.ID]*fakeHost
	links map[[2]peer.ID]uint64 // session; 0 = down
	last  uint64
}

// fakeHost is one node.
type fakeHost struct {
	net  *fakeNet
	id   peer.ID
	side int
	seam overlay.Seam
	*Clusters

	// Guarded by net.mu.
	known    map[peer.ID]bool
	handlers map[wire.Kind]func(peer.ID, []byte)
	notify   func(PeerEvent)
	changed  func()
	holds    map[peer.ID]int
	ways     map[peer.ID]*fakeWay // from whom
	sent     int
	crashed  bool
	behind   func(peer.ID) bool // see Network.Behind; set before views are asked for
}

// fakeWay is one direction of one link.
type fakeWay struct {
	delivering sync.Mutex // keeps the order
	queue      []func()   // guarded by net.mu
}

var errFakeDown = errors.New("fake: link is down")

func newFakeNet(t *testing.T) *fakeNet {
	return &fakeNet{t: t, hosts: make(map[peer.ID]*fakeHost), links: make(map[[2]peer.ID]uint64)}
}

// join starts a node that knows all others at once.
func (f *fakeNet) join(name string) *fakeHost { return f.joinAs(name, 1, "") }

func (f *fakeNet) joinAs(name string, incarnation uint64, zone string) *fakeHost {
	h := &fakeHost{
		net: f, id: testPeer(name),
		seam:  overlay.Seam{Clock: overlay.NewRealClock(), Rand: overlay.NewRealRand(), Exec: overlay.NewWorkers(16), Key: testKey(name)},
		known: make(map[peer.ID]bool), handlers: make(map[wire.Kind]func(peer.ID, []byte)),
		holds: make(map[peer.ID]int), ways: make(map[peer.ID]*fakeWay),
	}
	c, err := New(Config{Overlay: h, Network: testNetwork, Keys: testKeys, Incarnation: incarnation, Zone: zone})
	require.NoError(f.t, err)
	h.Clusters = c
	require.NoError(f.t, c.Start())
	f.mu.Lock()
	f.hosts[h.id] = h
	f.mu.Unlock()
	f.meet()
	f.t.Cleanup(h.crash)
	return h
}

// meet makes routing tables true.
func (f *fakeNet) meet() {
	f.mu.Lock()
	var changed []func()
	for _, h := range f.hosts {
		known := make(map[peer.ID]bool)
		for _, o := range f.hosts {
			if o != h && o.side == h.side {
				known[o.id] = true
			}
		}
		if fmt.Sprint(known) != fmt.Sprint(h.known) {
			h.known = known
			changed = append(changed, h.changed)
		}
	}
	f.mu.Unlock()
	for _, c := range changed {
		c()
	}
}

// crash ends a node: its links break.
func (h *fakeHost) crash() {
	f := h.net
	f.mu.Lock()
	if h.crashed {
		f.mu.Unlock()
		return
	}
	h.crashed = true
	delete(f.hosts, h.id)
	others := f.sorted()
	f.mu.Unlock()
	for _, o := range others {
		f.cut(h, o)
	}
	require.NoError(f.t, h.Close())
	f.meet()
}

func (f *fakeNet) sorted() []*fakeHost {
	return slices.SortedFunc(maps.Values(f.hosts), func(a, b *fakeHost) int { return cmp.Compare(a.id, b.id) })
}

// cut breaks the link between two nodes; both notice one latency later, as
// with a TCP reset.
func (f *fakeNet) cut(a, b *fakeHost) {
	f.mu.Lock()
	session := f.links[pair(a.id, b.id)]
	delete(f.links, pair(a.id, b.id))
	f.mu.Unlock()
	if session != 0 {
		b.later(a.id, func() { b.notify(PeerEvent{Type: PeerDown, Peer: a.id, Session: session}) })
		a.later(b.id, func() { a.notify(PeerEvent{Type: PeerDown, Peer: b.id, Session: session}) })
	}
}

// split moves a node to another side of a partition.
func (f *fakeNet) split(h *fakeHost, side int) {
	f.mu.Lock()
	h.side = side
	hosts := f.sorted()
	f.mu.Unlock()
	for _, o := range hosts {
		if o != h && o.side != side {
			f.cut(h, o)
		}
	}
	f.meet()
}

// later has g run on this node after the latency of the way from a peer.
func (h *fakeHost) later(from peer.ID, g func()) {
	h.net.mu.Lock()
	w := h.ways[from]
	if w == nil {
		w = &fakeWay{}
		h.ways[from] = w
	}
	w.queue = append(w.queue, g)
	h.net.mu.Unlock()
	time.AfterFunc(fakeLatency, func() {
		w.delivering.Lock()
		defer w.delivering.Unlock()
		h.net.mu.Lock()
		head := w.queue[0]
		w.queue = w.queue[1:]
		h.net.mu.Unlock()
		head()
	})
}

func (h *fakeHost) Self() peer.ID                               { return h.id }
func (h *fakeHost) Addrs() []string                             { return []string{"/ip4/10.0.0.1/tcp/4000"} }
func (h *fakeHost) Seam() overlay.Seam                          { return h.seam }
func (h *fakeHost) Handle(k wire.Kind, g func(peer.ID, []byte)) { h.handlers[k] = g }
func (h *fakeHost) Subscribe(g func(PeerEvent))                 { h.notify = g }
func (h *fakeHost) OnChange(g func())                           { h.changed = g }
func (h *fakeHost) Behind(p peer.ID) bool                       { return h.behind != nil && h.behind(p) }
func (h *fakeHost) LongestTrip() (time.Duration, bool)          { return 0, true }

func (h *fakeHost) Send(to peer.ID, k wire.Kind, body []byte) (uint64, error) {
	f := h.net
	f.mu.Lock()
	session, o := f.links[pair(h.id, to)], f.hosts[to]
	if session == 0 || o == nil || h.crashed {
		f.mu.Unlock()
		return 0, errFakeDown
	}
	h.sent++
	f.mu.Unlock()
	o.later(h.id, func() {
		f.mu.Lock()
		live := f.links[pair(h.id, to)] == session
		f.mu.Unlock()
		if live {
			o.handlers[k](h.id, slices.Clone(body))
		}
	})
	return session, nil
}

func (h *fakeHost) Open(to peer.ID, _ []string) {
	f := h.net
	h.later(to, func() { // half a round trip to get there …
		f.mu.Lock()
		o := f.hosts[to]
		key := pair(h.id, to)
		switch {
		case h.crashed || f.links[key] != 0:
			f.mu.Unlock()
		case o == nil || o.side != h.side:
			f.mu.Unlock()
			h.notify(PeerEvent{Type: PeerDialFailed, Peer: to})
		default:
			f.last++
			session := f.last
			f.links[key] = session
			f.mu.Unlock()
			o.later(h.id, func() { o.notify(PeerEvent{Type: PeerUp, Peer: h.id, Session: session}) })
			h.notify(PeerEvent{Type: PeerUp, Peer: to, Session: session})
		}
	})
}

func (h *fakeHost) Hold(p peer.ID) func() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.holds[p]++
	return func() {
		h.net.mu.Lock()
		defer h.net.mu.Unlock()
		h.holds[p]--
	}
}

func (h *fakeHost) Need(peer.ID) func() { return func() {} }

func (h *fakeHost) Nearest(key overlay.Key, k int) []peer.ID {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	all := byDistance(security.ClusterID(key), append(slices.Collect(maps.Keys(h.known)), h.id))
	return all[:min(k, len(all))]
}

func (h *fakeHost) Closest(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error) {
	select {
	case <-time.After(2 * fakeLatency):
		return h.Nearest(key, k), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// suspect makes h's heartbeats say that p is silent, or is heard again.
func (h *fakeHost) suspect(p *fakeHost, on bool) {
	e := PeerEvent{Type: PeerRecovered, Peer: p.id}
	if on {
		e.Type = PeerSuspect
	}
	h.notify(e)
}

func (f *fakeNet) sentAll() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := 0
	for _, h := range f.hosts {
		sum += h.sent
	}
	return sum
}

// bubble runs a test over a fake network in virtual time.
func bubble(t *testing.T, test func(t *testing.T, f *fakeNet)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFakeNet(t)) })
}

// since returns how long g takes.
func since(g func()) time.Duration {
	start := time.Now()
	g()
	return time.Since(start)
}

func settleAll() {
	synctest.Wait()
	time.Sleep(5 * time.Second)
}

func serve(t *testing.T, h *fakeHost, name string, m MemberID) {
	t.Helper()
	require.NoError(t, h.Register(t.Context(), name, Registration{Member: m, Capacity: 1, MaxMessage: 1 << 20}))
}

// watching is a watch that ends with the test.
func watching(t *testing.T, h *fakeHost, name string) *Watch {
	w := h.Watch(name)
	t.Cleanup(w.Release)
	return w
}

func ids(v *View) []MemberID { return idsOf(v.Members) }

func idsOf(members []*Member) (out []MemberID) {
	for _, m := range members {
		out = append(out, m.ID)
	}
	return out
}

// crowd starts n nodes, and waits until they know each other.
func crowd(f *fakeNet, n int) []*fakeHost {
	var out []*fakeHost
	for i := range n {
		out = append(out, f.join(fmt.Sprintf("node%d", i)))
	}
	settleAll()
	return out
}

// byNearness sorts nodes by their distance to name's present id.
func byNearness(hosts []*fakeHost, name string) []*fakeHost {
	byID := make(map[peer.ID]*fakeHost)
	var all []peer.ID
	for _, h := range hosts {
		byID[h.id] = h
		all = append(all, h.id)
	}
	var out []*fakeHost
	for _, p := range byDistance(testKeys(name).Epochs(time.Now())[0].ID(), all) {
		out = append(out, byID[p])
	}
	return out
}

// watchFor looks at every view until the returned function is called, which
// says whether bad was ever true.
func watchFor(t *testing.T, w *Watch, bad func(*View) bool) func() bool {
	stop, done := make(chan struct{}), make(chan bool)
	me := &waiter{id: 1 << 40, wake: make(chan struct{}, 1)}
	w.entry.addWaiter(me)
	go func() {
		defer w.entry.removeWaiter(me)
		found := false
		for {
			found = found || bad(w.View())
			select {
			case <-me.wake:
			case <-stop:
				done <- found
				return
			}
		}
	}()
	return func() bool {
		close(stop)
		return <-done
	}
}
