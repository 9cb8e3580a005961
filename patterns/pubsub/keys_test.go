// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// brings is keys for a word that this node is lent, in place of those of the engine.
func (l *lone) lends(word string, versions ...security.KeyVersion) (id string, keys *security.Cluster) {
	keys = security.NewCluster(env.Prefix+word, versions)
	id = security.KeySetID(env.Prefix+word, versions).String()
	own := l.base.Cfg.Keys
	l.base.Cfg.Keys = func(ref string) *security.Cluster {
		if ref == name.Ref(env.Prefix+word, id) {
			return keys
		}
		return own(ref)
	}
	return id, keys
}

// seals seals a message on news.a as the author's, in its first life.
func (a author) seals(keys *security.Cluster, key security.KeyID, serial uint64, body string) wire.Messages {
	const topic = "news.a"
	plain := append(append([]byte{byte(len(topic))}, topic+"\x00\x00"...), body...)
	head := []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, byte(serial)}
	binding := security.Binding{Sender: peerOf(string(a)), SenderIncarnation: 1, RequestID: serial, Key: key}
	sealed := keys.Seal(overlay.NewRealRand().Stream("test"), binding, head, plain)
	return oneMessage(topic, nil, nil, sealed)
}

func TestAFrameUnderTwoKeysIsForWhoHoldsEach(t *testing.T) {
	// This test puts messages that two keys have sealed into one frame, as a rotation can,
	// or a forwarder that holds one of them only: each is for those who hold the key that
	// sealed it, whatever else is in the frame.
	alone(t, func(t *testing.T, l *lone) {
		one := security.KeyVersion{Version: 1, Key: security.Key{1}}
		two := security.KeyVersion{Version: 2, Key: security.Key{2}}
		old, _ := l.lends("news", one)
		next, _ := l.lends("news", two)
		both, keys := l.lends("news", one, two)
		ears := map[string]catcher{}
		for _, id := range []string{old, next, both, ""} {
			ears[id] = l.hears(t, "news.>", patterns.SubscribeOptions{Keys: id})
		}
		first := security.NewCluster("topic:news", []security.KeyVersion{one}).KeyID()
		pub := author("pub")
		m := wire.Publish{Session: 1, Run: run1, Number: 1, Flags: wire.FlagSealed}
		for i, body := range []string{"a", "b", "c", "d"} {
			key := keys.KeyID()
			if i%3 == 0 {
				key = first
			}
			m.Messages = append(m.Messages, pub.seals(keys, key, uint64(i+1), body)...)
		}
		l.comes(string(peerOf("pub")), wire.KindPublish, m.AppendTo(nil))
		for _, body := range []string{"a", "b", "c", "d"} {
			require.Equal(t, "news.a "+body, ears[both].next(t))
		}
		for id, want := range map[string]string{old: "ad", next: "bc"} {
			for _, body := range want {
				require.Equal(t, "news.a "+string(body), ears[id].next(t))
			}
		}
		for id := range ears {
			require.Empty(t, ears[id])
		}

		m = wire.Publish{Session: 1, Run: run1, Number: 5}
		m.Messages = oneMessage("news.a", nil, nil, []byte("invented"))
		before := l.dropped(env.DropUnauthorized)
		l.comes(string(peerOf("pub")), wire.KindPublish, m.AppendTo(nil))
		require.Equal(t, before+1, l.dropped(env.DropUnauthorized), "a session is either sealed for some or for everybody")
		require.Empty(t, ears[""])

		mark := wire.PublishMark{Session: 1, Run: run1, Number: 6, Group: "news"}
		l.marks(string(peerOf("pub")), mark)
		require.Equal(t, before+2, l.dropped(env.DropUnauthorized))
		mark.Group = name.Ref("news", first.String())
		l.marks(string(peerOf("pub")), mark)
		for id, want := range map[string]string{old: "gap 2 lost", both: "gap 2 lost"} {
			require.Equal(t, want, ears[id].next(t), "who holds the key is told")
		}
		require.Empty(t, ears[next])
		require.Empty(t, ears[""])
	})
}

func TestLongFirstWordsHaveLegalClusters(t *testing.T) {
	// This test names the clusters of topics whose first words are too long for one, also
	// where a cut is within a character: they are legal names, told apart, and no
	// references to keys.
	seen := map[string]bool{}
	for _, word := range []string{
		strings.Repeat("p", 161), strings.Repeat("p", 162), strings.Repeat("p", 254), strings.Repeat("p", 255),
		strings.Repeat("é", 100), "x" + strings.Repeat("é", 100),
	} {
		c := env.ClusterOf(word)
		require.NoError(t, cluster.CheckName(c))
		require.True(t, utf8.ValidString(c))
		_, keys := name.CutRef(c)
		require.Empty(t, keys)
		require.False(t, seen[c])
		seen[c] = true
	}
	require.Equal(t, "topic:geo", env.ClusterOf("geo"))
	l := newLone(t)
	require.NoError(t, l.Publish(t.Context(), strings.Repeat("p", 200), patterns.Message{}, patterns.PublishOptions{}))
}

func TestASourceIsSaidToBeForSomeOnSeveralLinksAtOnce(t *testing.T) {
	// This test has several links bring what first says whom a source is for, at the same
	// time: all of them agree, and each is believed.
	sources := make([]subject, 500_000)
	var wg sync.WaitGroup
	var refused atomic.Int32
	for range 4 {
		wg.Go(func() {
			for i := range sources { // all at the same ones
				if !sources[i].is(keyed) {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, refused.Load())
	require.False(t, sources[0].is(public))
}

func TestWhoHoldsAKeyIsFoundWithoutAllocations(t *testing.T) {
	// This test counts what it costs to find those for whom a message is that one set of
	// keys here opens, as it comes and as it is published.
	if raced.Enabled {
		t.Skip("the race detector allocates")
	}
	l := newLone(t)
	id, keys := l.lends("news", security.KeyVersion{Version: 1, Key: security.Key{1}})
	l.ignores(t, patterns.SubscribeOptions{Keys: id})
	topic, key := "news."+strings.Repeat("x.", 20)+"x", numberOf(keys.KeyID())
	in, came := &incoming{keyed: true, word: "news"}, []byte(topic)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if l.local.keyFor("news", key) == nil || l.local.heard(in, key, came) == nil || l.local.under(key, topic) == nil {
			t.Fatal("nobody")
		}
	}))
}

func TestAClosedEnginePublishesUnderNoKeys(t *testing.T) {
	// This test publishes under keys that were brought, before and after the engine is closed.
	alone(t, func(t *testing.T, l *lone) {
		id, _ := l.lends("news", security.KeyVersion{Version: 1, Key: security.Key{1}})
		publish := func() error {
			return l.Publish(t.Context(), "news.a", patterns.Message{}, patterns.PublishOptions{Keys: id})
		}
		require.NoError(t, publish())
		require.NoError(t, l.Engine.Close())
		require.ErrorIs(t, publish(), patterns.ErrClosed)
	})
}

func TestWhatIsNoIDOfKeysNamesNone(t *testing.T) {
	// This test publishes and subscribes under what is no id of keys: it is refused, and
	// does not come to those who listen without keys.
	alone(t, func(t *testing.T, l *lone) {
		open := l.listens(t, "news.>")
		for _, id := range []string{"x", "0123456789ABCDEF", "0123456789abcdef0", "0123456789abcdef#0123456789abcdef"} {
			require.ErrorIs(t, l.Publish(t.Context(), "news.a", patterns.Message{}, patterns.PublishOptions{Keys: id}), patterns.ErrTopic)
			_, err := l.Engine.Subscribe(t.Context(), "news.a", open, patterns.SubscribeOptions{Keys: id})
			require.ErrorIs(t, err, patterns.ErrTopic)
		}
		require.Empty(t, open)
	})
}

func TestALabelStaysWhereKeysWereTakenBack(t *testing.T) {
	// This test takes keys back while something is being published under them: those who
	// hold them elsewhere are told of gaps by the key that they have, not by none.
	alone(t, func(t *testing.T, l *lone) {
		id, keys := l.lends("news", security.KeyVersion{Version: 1, Key: security.Key{1}})
		group := name.Ref("news", id)
		p := l.publishers.use(group, false)
		defer l.publishers.done(p)
		p.keys.Of = func(string) *security.Cluster { return security.NewCluster(env.Prefix+"news", nil) }
		p.lock()
		defer p.Unlock()
		p.use()
		require.Equal(t, name.Ref("news", keys.KeyID().String()), p.Group)
	})
}

func TestNobodyPassesOnToTheForwardersOfTheRootGroup(t *testing.T) {
	// This test has a publisher sign that another node passes on what it publishes to the
	// forwarders of the root group, under any label: only the publisher itself sends that.
	alone(t, func(t *testing.T, l *lone) {
		for i, group := range []string{env.RootForwards, name.Ref(env.RootForwards, "0123456789abcdef")} {
			p := author("pub").path(1, uint64(i+1), 0, "f")
			p.Group = group
			proven("pub", p, "f")
			l.shows("f", p)
			require.EqualValues(t, i+1, l.dropped(env.DropNotNamed))
			require.Zero(t, l.sources.count())
		}
	})
}
