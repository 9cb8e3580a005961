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

// timed says when the key of that version begins and ends; zero = it does not.
func timed(set []wire.LeafKeys, version uint32, begins, ends time.Time) []wire.LeafKeys {
	seconds := func(t time.Time) uint64 { return uint64(max(t.Unix(), 0)) }
	for i := range set[0].Keys {
		if k := &set[0].Keys[i]; k.Version == version {
			k.NotBefore, k.NotAfter = seconds(begins), seconds(ends)
		}
	}
	return set
}

// says publishes, and returns when the subscribers have it. What the binding itself
// subscribes to may come before that.
func (b *binding) says(topic, text string) {
	b.t.Helper()
	b.publish(99, topic, text)
	var own []arrival
	a := b.take()
	for ; a.kind != wire.KindDone; a = b.take() {
		own = append(own, a)
	}
	b.ahead = append([]arrival{a}, b.ahead...)
	d := b.done(99)
	require.Zero(b.t, d.Outcome, d.Text)
	b.ahead = append(own, b.ahead...)
}

// texts takes the bodies of the publications that have come within a second.
func (b *binding) texts() (out []string) {
	b.t.Helper()
	time.Sleep(time.Second)
	for b.hasOf(wire.KindPublish) {
		out = append(out, bodyOf(b.t, b.publication().Tail))
	}
	require.False(b.t, b.hasOf(wire.KindGap), "something is missing")
	return out
}

// TestTopicsUnderTwoKeysAreTwoGroups proves that a program brings a key of topics which
// its relay has not, and publishes and subscribes under it, on one relay and from one to
// another: all who have brought the key hear it, and nobody else does: neither who has
// brought another one for the same topics, nor who has none, nor a pattern that begins
// with a wildcard, on any relay.
func TestTopicsUnderTwoKeysAreTwoGroups(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		far, _ := s.relayOn(s.Start("far"), "far", nil)
		empty, _ := s.relayOn(s.Start("empty"), "empty", nil)
		key := map[string][]wire.LeafKeys{"A": keysOf("topic:prices", 1), "B": keysOf("topic:prices", 2), "none": nil}
		listeners := map[string]*binding{}
		for name, r := range map[string]*relay.Relay{"here": s.relay, "far": far} {
			for k := range key {
				listeners[k+" "+name] = bring(t, r, k, key[k])
			}
		}
		listeners["none empty"] = bring(t, empty, "empty", nil)
		for _, b := range listeners {
			b.subscribe(wire.Subscribe{ID: 1, Pattern: "prices.>"})
			b.subscribe(wire.Subscribe{ID: 2, Options: wire.SubscribeBlocks, Pattern: "prices.*"})
		}
		all := bring(t, empty, "all", nil)
		all.subscribe(wire.Subscribe{ID: 1, Pattern: ">"})
		beside := bring(t, s.relay, "beside", key["A"])
		beside.subscribe(wire.Subscribe{ID: 1, Pattern: "*.eu"})
		for k := range key {
			for _, r := range []*relay.Relay{s.relay, far} {
				text := "of " + k
				bring(t, r, "publisher", key[k]).says("prices.eu", text)
				for who, b := range listeners {
					var want []string
					if strings.HasPrefix(who, k+" ") {
						want = []string{text, text} // of each subscription
					}
					require.Equal(t, want, b.texts(), "%s publishes, %s listens", k, who)
				}
				var public []string
				if k == "none" {
					public = []string{text}
				}
				require.Equal(t, public, all.texts())
				require.Equal(t, public, beside.texts())
			}
		}
		id := node.KeySetID(&key["A"][0])
		require.Contains(t, fmt.Sprint(s.relay.Status().Clients), "topic:prices "+id)
	})
}

// TestTopicsOfTheRelaysOwnKeyAndAClients proves that it is the same wherever a key comes
// from, the node's configuration or a client.
func TestTopicsOfTheRelaysOwnKeyAndAClients(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		far, _ := s.relayOn(s.Start("far", func(c *node.Config) {
			c.ClusterKeys = map[string][]security.KeyVersion{"topic:prices": {{Version: 1, Key: secretOf(1)}, {Version: 2, Key: secretOf(2)}}}
		}), "far", nil)
		a, b := bring(t, s.relay, "a", keysOf("topic:prices", 0, 2)), bring(t, far, "b", nil)
		same, old := bring(t, far, "same", keysOf("topic:prices", 1, 2)), bring(t, far, "old", keysOf("topic:prices", 1))
		for _, c := range []*binding{a, b, same, old} {
			c.subscribe(wire.Subscribe{ID: 1, Pattern: "prices.eu"})
		}
		for _, c := range []*binding{a, b, same} {
			c.says("prices.eu", "hi")
			for _, d := range []*binding{a, b, same} {
				require.Equal(t, []string{"hi"}, d.texts())
			}
			require.Empty(t, old.texts(), "it has not the key that seals")
		}
	})
}

// TestOldAndNewKeysOfTopicsMeet proves what handing out a newer file needs: clients with
// the old keys and with the old and new ones hear each other, on one relay and on two,
// each message once, also in a queue that they share, as long as the old key has not ended.
func TestOldAndNewKeysOfTopicsMeet(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		far, _ := s.relayOn(s.Start("far"), "far", nil)
		old := keysOf("topic:prices", 1)
		both := timed(keysOf("topic:prices", 1, 2), 1, time.Time{}, time.Now().Add(time.Hour))
		var all []*binding
		for _, r := range []*relay.Relay{s.relay, far} {
			all = append(all, bring(t, r, "old", old), bring(t, r, "both", both))
		}
		for _, b := range all {
			b.subscribe(wire.Subscribe{ID: 1, Pattern: "prices.a"})
			b.subscribe(wire.Subscribe{ID: 2, Queue: "q", Pattern: "prices.b"})
		}
		for _, b := range all {
			b.says("prices.a", "hi")
			for _, to := range all {
				require.Equal(t, []string{"hi"}, to.texts())
			}
			const count = 8
			for i := range count {
				b.publish(0, "prices.b", fmt.Sprint(i))
			}
			got := map[string]bool{}
			n := 0
			for _, to := range all {
				for _, text := range to.texts() {
					got[text], n = true, n+1
				}
			}
			require.Len(t, got, count)
			require.Equal(t, count, n, "a queue has each message once")
		}
	})
}

// TestARotationOfAKeyOfTopicsLosesNothing proves that messages go on while the key that
// seals them changes at its time, and while clients attach anew with a newer file: each
// comes once, in order, and no gap is told.
func TestARotationOfAKeyOfTopicsLosesNothing(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		far, _ := s.relayOn(s.Start("far"), "far", nil)
		begin := time.Now()
		change := begin.Add(time.Minute).Truncate(time.Second)
		first := timed(timed(keysOf("topic:prices", 1, 2), 1, time.Time{}, change), 2, begin, time.Time{})
		listener, publisher := bring(t, far, "listener", first), bring(t, s.relay, "publisher", first)
		listener.subscribe(wire.Subscribe{ID: 1, Pattern: "prices.*"})
		sent, heard := 0, 0
		publish := func(by *binding, until time.Time) {
			for time.Now().Before(until) {
				by.says("prices.eu", fmt.Sprint(sent))
				sent++
				time.Sleep(200 * time.Millisecond)
				for listener.hasOf(wire.KindPublish) {
					require.Equal(t, fmt.Sprint(heard), bodyOf(t, listener.publication().Tail))
					heard++
				}
			}
		}
		publish(publisher, change.Add(time.Minute))
		newer := timed(timed(keysOf("topic:prices", 0, 2, 3), 2, begin, time.Now().Add(time.Hour)), 3, time.Now().Truncate(time.Second), time.Time{})
		again := bring(t, s.relay, "again", newer)
		publisher.conn.Close()
		publish(again, time.Now().Add(time.Minute))
		time.Sleep(time.Second)
		for _, text := range listener.texts() {
			require.Equal(t, fmt.Sprint(heard), text)
			heard++
		}
		require.Equal(t, sent, heard)
	})
}

// TestKeysOfTopicsAreForTheSession proves that a client which resumes its session goes on
// under its keys, and that the node can neither publish nor subscribe under them once the
// last client that has brought them is gone; and again when one brings them again.
func TestKeysOfTopicsAreForTheSession(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		keys := keysOf("topic:prices", 1)
		a, b := bring(t, s.relay, "a", keys), bring(t, s.relay, "b", keys)
		a.subscribe(wire.Subscribe{ID: 1, Pattern: "prices.*"})
		a.conn.Close()
		time.Sleep(time.Second)
		b.says("prices.eu", "meanwhile")
		time.Sleep(time.Second)
		again := a.resume(s.dial())
		require.Equal(t, a.welcome.Session, again.welcome.Session)
		b.says("prices.eu", "after")
		require.Equal(t, []string{"meanwhile", "after"}, again.texts())

		id := node.KeySetID(&keys[0])
		publish := func() error {
			err := s.node.PublishTail(t.Context(), "prices.eu", tail("x"), patterns.PublishOptions{Keys: id})
			return err
		}
		b.conn.Close()
		time.Sleep(20 * time.Second)
		require.NoError(t, publish(), "one client has them still")
		require.Equal(t, []string{"x"}, again.texts())
		again.conn.Close()
		time.Sleep(20 * time.Second)
		require.ErrorContains(t, publish(), "nobody has brought these keys")
		_, err := s.node.Subscribe(t.Context(), "prices.eu", patterns.SubscriberFunc(func(patterns.Publication) {}), patterns.SubscribeOptions{Keys: id})
		require.ErrorIs(t, err, patterns.ErrTopic)
		require.ErrorContains(t, err, "nobody has brought these keys")

		c := bring(t, s.relay, "c", keys)
		c.subscribe(wire.Subscribe{ID: 1, Pattern: "prices.*"})
		c.says("prices.eu", "again")
		require.Equal(t, []string{"again"}, c.texts())
	})
}
