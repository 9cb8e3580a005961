// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

// keysOf are keys of a cluster, each of 32 times its own byte; versions count from 1.
func keysOf(cluster string, keys ...byte) []wire.LeafKeys {
	set := wire.LeafKeys{Cluster: cluster}
	for i, b := range keys {
		if b != 0 {
			set.Keys = append(set.Keys, wire.LeafKey{Version: uint32(i + 1), Key: wire.Secret(secretOf(b))})
		}
	}
	return []wire.LeafKeys{set}
}

func secretOf(b byte) (key security.Key) {
	for i := range key {
		key[i] = b
	}
	return key
}

// bring attaches to a relay with keys.
func bring(t *testing.T, r *relay.Relay, name string, keys []wire.LeafKeys) *binding {
	h := hello()
	h.Name, h.Keys = name, keys
	return dialTo(t, r).greet(h)
}

// answers says who has a request of b's: the one of members that gets it answers with
// its name. Without one it returns the outcome.
func (b *binding) answers(id uint64, cluster string, members map[string]*binding) string {
	b.t.Helper()
	b.ask(id, cluster, "hi")
	for {
		for name, m := range members {
			if m.has() {
				d := m.delivery()
				m.send(wire.LaneRPC, wire.KindReply, &wire.Reply{ID: d.ID, Tail: tail(name)})
			}
		}
		if b.has() {
			r := b.reply()
			if r.Outcome == wire.OutcomeReply {
				return bodyOf(b.t, r.Tail)
			}
			return r.Outcome.String()
		}
		time.Sleep(time.Millisecond)
	}
}

// members asks who there is.
func (b *binding) members(id uint64, cluster string) (list []patterns.Member) {
	b.t.Helper()
	if r := b.call(id, "$members", cluster); r.Outcome == wire.OutcomeReply {
		require.NoError(b.t, json.Unmarshal([]byte(bodyOf(b.t, r.Tail)), &list))
	}
	return list
}

// TestOneNameUnderTwoKeysIsTwoClusters proves that clients which bring other keys for
// one name, or none, do not meet, on one relay or on two, that those with the same
// keys do, and that one who leaves takes nobody else's members along.
func TestOneNameUnderTwoKeysIsTwoClusters(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		far, _ := s.relayOn(s.Start("far"), "far", nil)
		here := map[string]*binding{
			"A": bring(t, s.relay, "A", keysOf("geo", 1)), "B": bring(t, s.relay, "B", keysOf("geo", 2)), "none": bring(t, s.relay, "none", nil),
		}
		for _, m := range here {
			m.register(1, "geo")
		}
		for i, r := range []*relay.Relay{s.relay, far} {
			id := uint64(10 * (i + 1))
			for n, who := range map[string][]wire.LeafKeys{"A": keysOf("geo", 1), "B": keysOf("geo", 2), "none": nil} {
				caller := bring(t, r, "caller", who)
				for range 3 {
					id++
					require.Equal(t, n, caller.answers(id, "geo", here))
				}
			}
		}
		stranger := bring(t, far, "stranger", keysOf("geo", 3))
		require.Equal(t, "no_members", stranger.answers(1, "geo", here))

		here["A"].conn.Close()
		delete(here, "A")
		caller := bring(t, far, "caller", keysOf("geo", 1))
		id := uint64(1)
		eventually(t, func() bool { id++; return caller.answers(id, "geo", here) == "no_members" }, "A is still there")
		require.Equal(t, "B", bring(t, s.relay, "caller", keysOf("geo", 2)).answers(1, "geo", here))
		require.Equal(t, "none", bring(t, far, "caller", nil).answers(1, "geo", here))
	})
}

// TestClientsWithTheOldFileAndTheNewOneMeet proves what a rotation needs: sets that
// have a key in common find each other's members through it, also on one relay, whose
// node watches the id that they share once; and that it goes on when one of them
// leaves.
func TestClientsWithTheOldFileAndTheNewOneMeet(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		far, _ := s.relayOn(s.Start("far"), "far", nil)
		old, both, next := keysOf("geo", 1), keysOf("geo", 1, 2), keysOf("geo", 0, 2)
		members := map[string]*binding{"old": bring(t, far, "old", old), "next": bring(t, far, "next", next)}
		for _, m := range members {
			m.register(1, "geo")
		}
		a, b := bring(t, s.relay, "a", old), bring(t, s.relay, "b", both)
		for id := range uint64(10) {
			require.Equal(t, "old", a.answers(id+1, "geo", members))
		}
		eventually(t, func() bool { return len(a.members(20, "geo")) == 1 && len(b.members(20, "geo")) == 2 }, "members are missing")

		b.conn.Close()
		time.Sleep(2 * time.Minute) // its watch is over, too
		third := bring(t, far, "third", both)
		third.register(1, "geo")
		members["third"] = third
		found := map[string]bool{}
		id := uint64(100)
		eventually(t, func() bool { id++; found[a.answers(id, "geo", members)] = true; return len(found) == 2 }, "who watches still does not hear of new members")
	})
}

// TestTheRelaysOwnKeysAndAClientsMeet proves that keys are the same wherever they
// come from: the node's configuration, or a client.
func TestTheRelaysOwnKeysAndAClientsMeet(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		holder := s.Start("holder", func(c *node.Config) {
			c.ClusterKeys = map[string][]security.KeyVersion{"geo": {{Version: 1, Key: secretOf(1)}}}
		})
		far, _ := s.relayOn(holder, "holder", nil)
		member := dialTo(t, far).greet(hello())
		member.register(1, "geo")
		members := map[string]*binding{"far": member}
		require.Equal(t, "far", bring(t, s.relay, "caller", keysOf("geo", 1)).answers(1, "geo", members))
		require.Equal(t, "far", bring(t, far, "caller", keysOf("geo", 1)).answers(1, "geo", members))
		require.Equal(t, "far", bring(t, s.relay, "caller", keysOf("geo", 1)).answers(2, "geo@test", members), "in the network that it says")
		require.Equal(t, "no_members", s.attach().answers(1, "geo", members))
		for _, w := range holder.Status().Watches {
			require.Equal(t, "geo", w.Cluster, "the same keys are watched twice")
		}
	})
}

// TestKeysAreForTheSession proves that a session is resumed with the keys it began
// with and no others, and that the node forgets them behind it.
func TestKeysAreForTheSession(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := bring(t, s.relay, "b", keysOf("geo", 1))
		b.conn.Close()
		time.Sleep(time.Second)
		again := b.resume(s.dial())
		require.Equal(t, b.welcome.Session, again.welcome.Session)
		again.hello.Keys = keysOf("geo", 2)
		again.conn.Close()
		time.Sleep(time.Second)
		other := again.resume(s.dial())
		require.NotEqual(t, b.welcome.Session, other.welcome.Session)
		require.Equal(t, b.welcome.Leaf, other.welcome.Leaf)

		ref, release, err := s.node.Bring(&keysOf("geo", 3)[0])
		require.NoError(t, err)
		_, err = s.node.Members(t.Context(), ref)
		require.ErrorIs(t, err, patterns.ErrNoMembers)
		release()
		_, err = s.node.Members(t.Context(), ref)
		require.ErrorContains(t, err, "nobody has brought these keys")
		ref = "geo#" + node.KeySetID(&keysOf("geo", 1)[0])
		_, err = s.node.Members(t.Context(), ref)
		require.ErrorContains(t, err, "nobody has brought these keys", "those of a session that is over")
	})
}

// TestKeysThatAreNoneAreRefused proves that a Hello with keys that make no sense is
// answered by a reason, and that a client can't use a reference to others' keys, which
// the status shows.
func TestKeysThatAreNoneAreRefused(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		for says, keys := range map[string][]wire.LeafKeys{
			"come twice":        append(keysOf("geo", 1), keysOf("geo", 2)...),
			"all zeros":         {{Cluster: "geo", Keys: []wire.LeafKey{{Version: 1}}}},
			"must begin at 1":   {{Cluster: "geo", Keys: []wire.LeafKey{{Key: wire.Secret(secretOf(1))}}}},
			"it is a reference": keysOf("geo#0123456789abcdef", 1),
			"control character": keysOf("g\neo", 1),
			"of a first word":   keysOf("topic:prices.eu", 1),
			"for patterns only": keysOf("topic:*", 1),
			"at most 160 bytes": keysOf("topic:"+strings.Repeat("p", 161), 1),
		} {
			h := hello()
			h.Keys = keys
			g := s.dial().refused(h)
			require.Equal(t, wire.EndOther, g.Code)
			require.Contains(t, g.Text, says)
		}
		member := bring(t, s.relay, "member", keysOf("geo", 1))
		member.register(1, "geo")
		id := node.KeySetID(&keysOf("geo", 1)[0])
		require.Equal(t, []string{"geo " + id}, s.status("member").Keys)
		thief := s.attach()
		r := thief.call(1, "geo#"+id, "hi")
		require.Equal(t, wire.OutcomeFailed, r.Outcome)
		require.Contains(t, bodyOf(t, r.Tail), "references to keys")
		require.Equal(t, wire.OutcomeFailed, thief.tryServe(wire.Serve{ID: 2, Patterns: wire.ServesRequests, Cluster: "geo#" + id}).Outcome)
		require.Equal(t, wire.OutcomeTopic, thief.trySubscribe(wire.Subscribe{ID: 3, Pattern: "prices#" + id + ".>"}).Outcome)
		thief.publish(4, "prices#"+id+".eu", "x")
		require.Equal(t, wire.OutcomeTopic, thief.done(4).Outcome)
	})
}

// TestKeysAreShownNowhere proves that nothing that is printed, logged or told has a
// key in it.
func TestKeysAreShownNowhere(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := bring(t, s.relay, "b", keysOf("geo", 'K'))
		b.register(1, "geo")
		status, err := json.Marshal(s.relay.Status())
		require.NoError(t, err)
		own, err := json.Marshal(s.node.Status())
		require.NoError(t, err)
		hello, err := json.Marshal(b.hello)
		require.NoError(t, err)
		for _, text := range []string{
			string(status), string(own), string(hello), fmt.Sprintf("%v %+v %#v %x", b.hello, b.hello, b.hello, b.hello.Keys), string(s.relay.Describe()),
		} {
			require.NotContains(t, text, "KKKK")
			require.NotContains(t, strings.ToLower(text), "4b4b4b4b")
			require.NotContains(t, text, "75, 75")
			require.NotContains(t, text, "75 75")
		}
		require.Contains(t, string(status), "geo ")
	})
}
