// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
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

// says publishes, and returns when the node has done that.
func (b *binding) says(topic, text string) {
	b.t.Helper()
	b.publish(99, topic, text)
	d := b.done(99)
	require.Zero(b.t, d.Outcome, d.Text)
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
			_, err := s.node.PublishTail(t.Context(), "prices.eu", tail("x"), patterns.PublishOptions{Keys: id})
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
