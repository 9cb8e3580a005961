// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// rig is the control core of one node, "me", between peers that the test
// plays. It shows actions as short sentences.
type rig struct {
	t     *testing.T
	now   time.Time
	c     *control
	table []string // whom the routing table knows
	names map[peer.ID]string
	last  uint64
	at    map[string]string // addresses of peers
	// msgs are the messages sent in the last step, by whom they went to.
	msgs  map[string][]message
	asked map[string]*registerMsg // the last one that each peer was sent
	view  *View
	far   time.Duration // the longest round trip
}

func newRig(t *testing.T, table ...string) *rig { return newRigNear(t, nil, table...) }

// newRigNear is newRig at a time when the given peers are those closest to the
// cluster "geo".
func newRigNear(t *testing.T, near []string, table ...string) *rig {
	g := &rig{
		t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), table: table, names: make(map[peer.ID]string),
		at: map[string]string{"me": "/ip4/10.0.0.7/tcp/1"}, asked: make(map[string]*registerMsg),
	}
	// The middle of an epoch: nothing rolls over by accident.
	g.now = testKeys("geo").NextChange(g.now).Add(time.Hour)
	for _, n := range []string{"me", "A", "B", "C", "D", "E", "F"} {
		g.names[testPeer(n)] = n
	}
	for !g.closest(near) {
		g.now = g.now.Add(6 * time.Hour)
	}
	g.c = newControl(g.now, controlConfig{
		key: testKey("me"), network: testNetwork, incarnation: 7, zone: "z",
		addrs: func() []string { return []string{g.at["me"]} },
		nearest: func(k overlay.Key, n int) []peer.ID {
			var all []peer.ID
			for _, p := range g.table {
				all = append(all, testPeer(p))
			}
			all = byDistance(security.ClusterID(k), all)
			return all[:min(n, len(all))]
		},
		trip:  func() (time.Duration, bool) { return g.far, true },
		walls: func() []time.Time { return []time.Time{g.now} },
		keys:  testKeys, rand: testReader{rand.New(rand.NewPCG(1, 1))}, seed: 1, drops: drop.New(dropReasons),
	})
	return g
}

func (g *rig) closest(want []string) bool {
	for _, p := range g.nearest("geo", "me", "A", "B", "C", "D", "E", "F")[:len(want)] {
		if !slices.Contains(want, p) {
			return false
		}
	}
	return true
}

// epochOf returns what p shows for name's only present id.
func (g *rig) epochOf(name, p string) *epoch {
	e := testKeys(name).Epochs(g.now)
	require.Len(g.t, e, 1)
	return &epoch{keys: e[0], cid: e[0].ID(), proof: e[0].Prove(testPeer(p))}
}

// nearest returns the given peers in the order of their distance to name's id.
func (g *rig) nearest(name string, peers ...string) []string {
	var all []peer.ID
	for _, p := range peers {
		all = append(all, testPeer(p))
	}
	var out []string
	for _, p := range byDistance(g.epochOf(name, "me").cid, all) {
		out = append(out, g.names[p])
	}
	return out
}

// do takes in events and returns what follows, sorted by nothing: in order.
func (g *rig) do(events ...event) []string {
	for _, e := range events {
		g.c.step(g.now, e)
	}
	g.msgs = make(map[string][]message)
	var out []string
	actions := g.c.finish(g.now)
	requireMerged(g.t, g.c.watcher)
	for _, a := range actions {
		if _, need := a.(needAction); !need { // it goes with open
			out = append(out, g.describe(a))
		}
	}
	return out
}

// after lets time pass, and wakes the core as often as it asks for it.
func (g *rig) after(d time.Duration) []string {
	end := g.now.Add(d)
	var out []string
	msgs := make(map[string][]message)
	for {
		next := g.c.next()
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(g.now) {
			g.now = next
		}
		out = append(out, g.do()...)
		for to, m := range g.msgs {
			msgs[to] = append(msgs[to], m...)
		}
	}
	g.now, g.msgs = end, msgs
	return out
}

func (g *rig) up(peers ...string) []string {
	var events []event
	for _, p := range peers {
		g.last++
		events = append(events, linkEvent{PeerEvent{Type: PeerUp, Peer: testPeer(p), Session: g.last, Addr: g.at[p]}})
	}
	return g.do(events...)
}

func (g *rig) link(kind PeerEventType, p string) []string {
	return g.do(linkEvent{PeerEvent{Type: kind, Peer: testPeer(p)}})
}

func (g *rig) from(p string, m message) []string {
	return g.do(frameEvent{from: testPeer(p), msg: m})
}

func (g *rig) peers(ids []peer.ID) string {
	var out []string
	for _, p := range ids {
		out = append(out, g.names[p])
	}
	return strings.Join(out, " ")
}

func (g *rig) describe(a action) string {
	switch a := a.(type) {
	case sendAction:
		to := g.names[a.to]
		g.msgs[to] = append(g.msgs[to], a.msg)
		if m, ok := a.msg.(*registerMsg); ok {
			g.asked[to] = m
		}
		return to + ": " + g.text(a.msg)
	case openAction:
		return "open " + g.names[a.to]
	case holdAction:
		return fmt.Sprintf("hold %s %v", g.names[a.peer], a.on)
	case lookupAction:
		return "lookup"
	case publishAction:
		g.view = a.view
		return "view " + g.members(a.view)
	case registeredAction:
		if a.err != nil {
			return fmt.Sprintf("registered %d: %v", a.member, a.err)
		}
		return fmt.Sprintf("registered %d", a.member)
	case expireAction:
		return "expire " + a.name
	}
	return fmt.Sprintf("%T", a)
}

func (g *rig) text(m message) string {
	switch m := m.(type) {
	case *registerMsg:
		return fmt.Sprintf("register %d", m.member)
	case *registeredMsg:
		return fmt.Sprintf("registered %d %v [%s]", m.member, m.refusal, g.peers(m.anchors))
	case *unregisterMsg:
		return fmt.Sprintf("unregister %d", m.member)
	case *watchMsg:
		return "watch"
	case *unwatchMsg:
		return "unwatch"
	case *snapshotMsg:
		return fmt.Sprintf("snapshot %s settled=%v more=%v %v [%s]", g.leases(m.leases), m.settled, m.more, m.refusal, g.peers(m.anchors))
	case *deltaMsg:
		var gone []string
		for _, r := range m.removed {
			gone = append(gone, fmt.Sprintf("-%d", r.member))
		}
		return fmt.Sprintf("delta %d %s%s settled=%v [%s]", m.number, g.leases(m.upserted), strings.Join(gone, " "), m.settled, g.peers(m.anchors))
	case *seenMsg:
		return fmt.Sprintf("seen %d", m.number)
	case *claimsMsg:
		return fmt.Sprintf("claims leases=%d watches=%d differs=%v", m.leases, m.watches, m.differs)
	case *hintMsg:
		return fmt.Sprintf("hint leases=%d want=%v [%s]", m.leases, m.wantReply, g.peers(m.anchors))
	}
	return fmt.Sprintf("%T", m)
}

func (g *rig) leases(all []lease) string {
	var out []string
	for _, l := range all {
		s := fmt.Sprintf("+%d@%s", l.member, g.names[l.peer])
		if l.suspect {
			s += "?"
		}
		out = append(out, s)
	}
	return "{" + strings.Join(out, " ") + "}"
}

// members shows a view: members with their states, or what is known of none.
func (g *rig) members(v *View) string {
	if len(v.Members) == 0 {
		return map[bool]string{true: "empty", false: "unknown"}[v.Empty]
	}
	var out []string
	for _, m := range v.Members {
		out = append(out, fmt.Sprintf("%d@%s=%s", m.ID, g.names[m.Peer], m.State()))
	}
	return strings.Join(out, " ")
}

// lease makes the lease of a member on p's node.
func (g *rig) lease(name, p string, m MemberID, incarnation uint64) lease {
	r := record{leaseKey: leaseKey{testPeer(p), m}, incarnation: incarnation, zone: "z", capacity: 1}
	return g.signed(name, p, r)
}

// signed makes the lease that p's node signs for the record.
func (g *rig) signed(name, p string, r record) lease { return signedUnder(g.epochOf(name, p), p, r) }

// signedUnder does so under an epoch.
func signedUnder(x *epoch, p string, r record) lease {
	l := lease{
		leaseKey: r.leaseKey, incarnation: r.incarnation,
		record: x.keys.SealRecord(testReader{rand.New(rand.NewPCG(uint64(r.member), r.incarnation+r.revision))}, r.encode()),
	}
	l.signature = testKey(p).SignLease(l.signed(testNetwork, x.cid))
	return l
}

// register makes p's Register for a member.
func (g *rig) register(name, p string, m MemberID, incarnation, seq uint64) *registerMsg {
	s, l := g.epochOf(name, p), g.lease(name, p, m, incarnation)
	return &registerMsg{
		cid: s.cid, key: s.keys.PublicKey(), proof: s.proof, member: m, incarnation: incarnation, record: l.record, signature: l.signature, seq: seq,
	}
}

func (g *rig) watch(name, p string, seq uint64) *watchMsg {
	s := g.epochOf(name, p)
	return &watchMsg{cid: s.cid, key: s.keys.PublicKey(), proof: s.proof, seq: seq}
}

// only returns the lines that begin with prefix.
func only(prefix string, lines []string) []string {
	var out []string
	for _, l := range lines {
		if strings.HasPrefix(l, prefix) {
			out = append(out, l)
		}
	}
	return out
}
