// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// brings is keys for a word that this node is lent, in place of those of the engine.
func (l *lone) lends(word string, versions ...security.KeyVersion) (id string, keys *security.Cluster) {
	keys = security.NewCluster(Prefix+word, versions)
	id = security.KeySetID(Prefix+word, versions).String()
	own := l.cfg.Keys
	l.cfg.Keys = func(ref string) *security.Cluster {
		if ref == name.Ref(Prefix+word, id) {
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
			ears[id] = make(catcher, 100)
			_, err := l.Engine.Subscribe(t.Context(), "news.>", ears[id], patterns.SubscribeOptions{Keys: id})
			require.NoError(t, err)
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
		before := l.dropped(dropUnauthorized)
		l.comes(string(peerOf("pub")), wire.KindPublish, m.AppendTo(nil))
		require.Equal(t, before+1, l.dropped(dropUnauthorized), "a session is either sealed for some or for everybody")
		require.Empty(t, ears[""])

		mark := wire.PublishMark{Session: 1, Run: run1, Number: 6, Group: "news"}
		l.comes(string(peerOf("pub")), wire.KindPublishMark, mark.AppendTo(nil))
		require.Equal(t, before+2, l.dropped(dropUnauthorized))
		mark.Group = name.Ref("news", first.String())
		l.comes(string(peerOf("pub")), wire.KindPublishMark, mark.AppendTo(nil))
		for id, want := range map[string]string{old: "gap 2", both: "gap 2"} {
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
	for _, word := range []string{strings.Repeat("p", 161), strings.Repeat("p", 162), strings.Repeat("é", 100), "x" + strings.Repeat("é", 100)} {
		c := clusterOf(word)
		require.NoError(t, cluster.CheckName(c))
		require.True(t, utf8.ValidString(c))
		_, keys := name.CutRef(c)
		require.Empty(t, keys)
		require.False(t, seen[c])
		seen[c] = true
	}
	l := newLone(t)
	require.NoError(t, l.Publish(t.Context(), strings.Repeat("p", 200), patterns.Message{}, patterns.PublishOptions{}))
}
