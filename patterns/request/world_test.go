// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// world is a set of nodes with nothing real but their engines: links that can
// be cut, doubted, filled and frozen, and one directory that everybody shares.
// It lives in a synctest bubble.
type world struct {
	t       testing.TB
	latency time.Duration

	mu       sync.Mutex
	nodes    map[peer.ID]*fakeNode
	members  map[string][]*cluster.Member
	servers  map[cluster.MemberID]*request.Server
	states   map[cluster.MemberID]string // that are not "live"
	unknown  bool                        // nobody knows who is there
	partial  bool                        // … and whether that is everybody
	sessions uint64
	begun    int
	done     []cluster.Result
	watches  int // that were not released
	changed  chan struct{}
	wg       sync.WaitGroup // of the test's goroutines
	pumps    sync.WaitGroup
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, latency: time.Millisecond, nodes: make(map[peer.ID]*fakeNode),
		members: make(map[string][]*cluster.Member), servers: make(map[cluster.MemberID]*request.Server), changed: make(chan struct{}),
	}
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	w.mu.Lock()
	var nodes []*fakeNode
	for _, n := range w.nodes {
		nodes = append(nodes, n)
	}
	w.mu.Unlock()
	for _, n := range nodes {
		n.stop()
	}
	w.wg.Wait()
	w.mu.Lock()
	for _, n := range nodes {
		for _, l := range n.links {
			l.session = 0
			close(l.frames)
		}
	}
	w.mu.Unlock()
	w.pumps.Wait()
	require.Equal(w.t, w.begun, len(w.done), "each Begin has one Done")
	require.Zero(w.t, w.watches, "each Watch has a Release")
}

// later does something a while from now, which the test waits for at its end.
func (w *world) later(d time.Duration, f func()) {
	w.wg.Go(func() {
		time.Sleep(d)
		f()
	})
}

// fakeNode is one node: an engine, and the Links and Directory that it sees.
type fakeNode struct {
	w       *world
	id      peer.ID
	engine  *request.Engine
	workers *overlay.Workers
	stopped sync.Once

	ephemerals *security.Ephemerals

	handlers map[wire.Kind]func(request.Link, []byte)
	notify   func(overlay.PeerEvent)
	atBegin  func()                // called by Begin
	links    map[peer.ID]*fakeLink // guarded by w.mu
}

// node adds a node. change may be nil.
func (w *world) node(name string, change func(*request.Config)) *fakeNode {
	n := &fakeNode{
		w: w, id: peer.ID(name), workers: overlay.NewWorkers(1000),
		handlers: make(map[wire.Kind]func(request.Link, []byte)), links: make(map[peer.ID]*fakeLink),
	}
	n.ephemerals = security.NewEphemerals(overlay.NewRealRand().Stream("ephemeral"), time.Now())
	cfg := request.Config{
		Ephemerals: n.ephemerals,
		Links:      n, Directory: n, Clock: overlay.NewRealClock(), Rand: overlay.NewRealRand(), Exec: n.workers,
		Incarnation: 7, Keys: func(name string) *security.Cluster { return derivedKeys(name) },
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	n.engine, err = request.New(cfg)
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[n.id] = n
	return n
}

func (n *fakeNode) stop() {
	n.stopped.Do(func() {
		require.NoError(n.w.t, n.engine.Close())
		require.NoError(n.w.t, n.workers.Close())
	})
}

func derivedKeys(name string) *security.Cluster {
	network, err := security.NewNetwork(security.NetworkFile{
		Name: "test", ID: security.NetworkID{1}, Keys: []security.KeyVersion{{Version: 1, Key: security.Key{1}}},
	})
	if err != nil {
		panic(err)
	}
	return network.Cluster(name)
}

func (n *fakeNode) Self() peer.ID                       { return n.id }
func (n *fakeNode) LinkTime(t time.Time) uint64         { return uint64(t.UnixNano()) }
func (n *fakeNode) Subscribe(f func(overlay.PeerEvent)) { n.notify = f }
func (n *fakeNode) HandleLent(k wire.Kind, h func(request.Link, []byte) bool) {
	n.handlers[k] = func(l request.Link, body []byte) {
		if !h(l, body) {
			clear(body) // the next frame may come in it
		}
	}
}

func (n *fakeNode) Handle(k wire.Kind, h func(request.Link, []byte)) {
	n.handlers[k] = h
}

func (n *fakeNode) Link(p peer.ID) request.Link { return n.link(p) }

func (n *fakeNode) link(p peer.ID) *fakeLink {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	l := n.links[p]
	if l == nil {
		l = &fakeLink{n: n, to: p, frames: make(chan fakeFrame, 1<<16), room: make(chan struct{})}
		if p == n.id {
			l.session = 1
		}
		n.links[p] = l
		n.w.pumps.Go(l.pump)
	}
	return l
}

// connect brings the link between two nodes up.
func (w *world) connect(a, b *fakeNode) {
	la, lb := a.link(b.id), b.link(a.id)
	w.mu.Lock()
	if la.session != 0 {
		w.mu.Unlock()
		return
	}
	w.sessions++
	s := w.sessions + 1
	la.session, lb.session = s, s
	la.suspect, lb.suspect = false, false
	w.mu.Unlock()
	la.event(overlay.PeerEvent{Type: overlay.LinkUp, Peer: b.id, Session: s})
	lb.event(overlay.PeerEvent{Type: overlay.LinkUp, Peer: a.id, Session: s})
}

// cut breaks it. What is on its way is lost.
func (w *world) cut(a, b *fakeNode) {
	la, lb := a.link(b.id), b.link(a.id)
	w.mu.Lock()
	s := la.session
	la.session, lb.session = 0, 0
	la.frozen, lb.frozen = false, false
	w.mu.Unlock()
	if s == 0 {
		return
	}
	la.event(overlay.PeerEvent{Type: overlay.LinkDown, Peer: b.id, Session: s})
	lb.event(overlay.PeerEvent{Type: overlay.LinkDown, Peer: a.id, Session: s})
}

// doubt has a suspect b.
func (w *world) doubt(a, b *fakeNode) {
	l := a.link(b.id)
	w.mu.Lock()
	l.suspect = true
	s := l.session
	w.mu.Unlock()
	l.event(overlay.PeerEvent{Type: overlay.LinkSuspect, Peer: b.id, Session: s})
}

// set changes a link's state.
func (w *world) set(a, b *fakeNode, change func(*fakeLink)) {
	l := a.link(b.id)
	w.mu.Lock()
	defer w.mu.Unlock()
	was := l.full
	change(l)
	if was && !l.full {
		close(l.room)
		l.room = make(chan struct{})
	}
}

// member serves on n and lists the member for everybody.
func (w *world) member(n *fakeNode, id cluster.MemberID, name string, h patterns.Handler, l patterns.Limits) *request.Server {
	s, err := n.engine.AddMember(id, name, patterns.ServiceOf(h), l)
	require.NoError(w.t, err)
	return w.serves(n, s)
}

// serves lists a member for everybody.
func (w *world) serves(n *fakeNode, s *request.Server) *request.Server {
	w.mu.Lock()
	w.servers[s.ID()] = s
	w.mu.Unlock()
	w.list(s.Name(), &cluster.Member{ID: s.ID(), Peer: n.id, Incarnation: 7, Capacity: 1, MaxMessage: s.Limits().MessageBytes})
	return s
}

func (w *world) list(name string, m *cluster.Member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.nodes[m.Peer]; n != nil {
		m.Ephemeral = n.ephemerals.Public()
	}
	w.members[name] = append(slices.Clone(w.members[name]), m)
	close(w.changed)
	w.changed = make(chan struct{})
}

// unlist has everybody learn that the member left.
func (w *world) unlist(name string, id cluster.MemberID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members[name] = slices.DeleteFunc(slices.Clone(w.members[name]), func(m *cluster.Member) bool { return m.ID == id })
	close(w.changed)
	w.changed = make(chan struct{})
}

// becomes has everybody see the member so.
func (w *world) becomes(id cluster.MemberID, state string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states == nil {
		w.states = make(map[cluster.MemberID]string)
	}
	w.states[id] = state
}

// Watch, Pick, Begin, Done and State make a node's Directory.
func (n *fakeNode) Watch(name string) request.Watch {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.w.watches++
	return &fakeWatch{n: n, name: name}
}

// Pick takes the first member that is not excluded.
func (n *fakeNode) Pick(v *cluster.View, p cluster.PickRequest) *cluster.Member {
	for _, m := range v.Members {
		if !slices.Contains(p.Exclude, m.ID) {
			return m
		}
	}
	return nil
}

func (n *fakeNode) Begin(*cluster.Member) {
	n.w.mu.Lock()
	n.w.begun++
	n.w.mu.Unlock()
	if n.atBegin != nil {
		n.atBegin()
	}
}

func (n *fakeNode) Done(_ *cluster.Member, r cluster.Result) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.w.done = append(n.w.done, r)
}

func (n *fakeNode) State(m *cluster.Member) string {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	return cmp.Or(n.w.states[m.ID], "live")
}

type fakeWatch struct {
	n        *fakeNode
	name     string
	released bool
}

func (f *fakeWatch) View() *cluster.View {
	w := f.n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.members[f.name]
	return &cluster.View{Members: m, Known: !w.unknown, Empty: !w.unknown && len(m) == 0, Complete: !w.partial}
}

func (f *fakeWatch) Release() {
	f.n.w.mu.Lock()
	defer f.n.w.mu.Unlock()
	if !f.released {
		f.released = true
		f.n.w.watches--
	}
}

func (f *fakeWatch) Wait(ctx context.Context, needMember bool) (*cluster.View, error) {
	late := time.NewTimer(2 * time.Second)
	defer late.Stop()
	for {
		f.n.w.mu.Lock()
		changed := f.n.w.changed
		f.n.w.mu.Unlock()
		v := f.View()
		switch {
		case len(v.Members) > 0:
			return v, nil
		case v.Empty && !needMember:
			return v, cluster.ErrNoMembers
		}
		select {
		case <-changed:
		case <-late.C:
			if !needMember {
				return nil, cluster.ErrUnreachable
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
