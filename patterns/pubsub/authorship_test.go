// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/pace"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// loud is a catcher that says why something is missing.
type loud struct{ catcher }

func (c loud) ServeGap(g patterns.Gap) { c.catcher <- fmt.Sprint("gap ", g.Missed, " ", g.Reason) }

// hears has the engine listen to a pattern, in any way.
func (l *lone) hears(t *testing.T, pattern string, o patterns.SubscribeOptions) catcher {
	t.Helper()
	got := make(catcher, 100)
	_, err := l.Engine.Subscribe(t.Context(), pattern, loud{got}, o)
	require.NoError(t, err)
	return got
}

// work is a message that an author has signed, and what somebody may do to it.
type work struct {
	said    wire.Authorship
	by      author // whose key has signed it
	topic   string // that was signed
	body    string
	other   string // body in place of that which was signed
	network security.NetworkID
	sealed  uint64 // the serial of the seal, in group sealed
}

// signed is a message as the author signs it in its first life and session.
func (a author) signed(topic string, serial uint64, body string) work {
	return work{
		said: wire.Authorship{Incarnation: 1, Session: 1, Serial: serial}, by: a, topic: topic, body: body, network: loneNetwork, sealed: serial,
	}
}

// content is headers, body and authorship.
func (w work) content() []byte {
	tail := append([]byte{0, 0}, w.body...)
	w.said.Signature = keyOf(string(w.by)).SignPublication(security.Publication{
		Network: w.network, Publisher: peerOf("pub"), Incarnation: w.said.Incarnation, Session: w.said.Session, Serial: w.said.Serial,
		Topic: w.topic, Tail: tail,
	})
	if w.other != "" {
		tail = append([]byte{0, 0}, w.other...)
	}
	return w.said.AppendTo(tail)
}

// frame is the message on a topic; sealed, if that is of group sealed: whoever has the
// key of the cluster can seal anew what it has opened.
func (w work) frame(topic string) single {
	content := w.content()
	m := single{Publish: wire.Publish{Session: 1, Run: run1, Flags: wire.FlagSigned}, Topic: topic, Body: content[2:]}
	if env.FirstWord(topic) == "sealed" {
		m.Body = author("pub").sealed(1, w.sealed, string(content[2:])).Body
		m.Flags |= wire.FlagSealed
	}
	return m
}

func TestWhoAsksForSignaturesGetsWhatThePublisherHasSigned(t *testing.T) {
	// This test has a forwarder, which has the cluster's key where there is one, change
	// what passes through it in every way, invent messages, take signatures off, and show
	// old ones again. Who asks for signatures gets nothing of that, and is told of a gap
	// with the reason; who does not ask gets it. What is as it was signed arrives, and the
	// same holds for what the publisher itself sends, for queues, and for clients of a relay.
	unsigned := func(topic, body string, serial uint64) single {
		m := single{Publish: wire.Publish{Session: 1, Run: run1}, Topic: topic, Body: []byte(body)}
		if env.FirstWord(topic) == "sealed" {
			m = author("pub").sealed(1, serial, body)
		}
		return m
	}
	for _, topic := range []string{"news.a", "sealed.a"} {
		for _, from := range []string{"f", string(peerOf("pub"))} {
			t.Run(fmt.Sprintf("%s, %t", topic, from == "f"), func(t *testing.T) {
				alone(t, func(t *testing.T, l *lone) {
					pub := author("pub")
					group := env.FirstWord(topic)
					keys := l.base.KeysOf(group)
					path := &wire.Path{Session: 1, Run: run1, Epoch: 1, Source: string(peerOf("pub")), Group: keys.Label(group)}
					path.Proof.Serial, path.Proof.Floor = 11, 10
					proven("pub", path, "f")
					l.shows("f", path)

					strict := l.hears(t, group+".>", patterns.SubscribeOptions{Signed: true})
					lax := l.hears(t, group+".>", patterns.SubscribeOptions{})
					_, client := l.proxy(t, 1, map[uint64]string{5: group + ".>"}, patterns.SubscribeOptions{Signed: true})
					number := uint64(0)
					brings := func(m single) {
						number++
						pub.brings(l, from, number, m)
					}
					good := func(w work) {
						t.Helper()
						brings(w.frame(topic))
						want := topic + " " + w.body
						require.Equal(t, want, strict.next(t))
						require.Equal(t, want, lax.next(t))
						require.Len(t, client.said(), 1)
					}
					bad := func(name string, m single) {
						t.Helper()
						before := l.dropped(env.DropUnsigned)
						brings(m)
						require.Equal(t, "gap 1 unsigned", strict.next(t), name)
						require.NotContains(t, lax.next(t), "gap", name)
						require.Equal(t, []string{"unsigned 1 [5]"}, client.said(), name)
						require.Equal(t, before+1, l.dropped(env.DropUnsigned), name)
					}

					good(pub.signed(topic, 20, "one"))
					bad("without a signature", unsigned(topic, "invented", 21))
					for name, change := range map[string]func(w *work){
						"another body":       func(w *work) { w.other = "changed" },
						"another topic":      func(w *work) { w.topic = group + ".b" },
						"another author":     func(w *work) { w.by = "f" },
						"another network":    func(w *work) { w.network[0]++ },
						"of another session": func(w *work) { w.said.Session++ },
						"of an earlier life": func(w *work) { w.said.Incarnation-- },
						"seen before":        func(w *work) { w.said.Serial = 20 },
					} {
						w := pub.signed(topic, 30+number, "two")
						change(&w)
						bad(name, w.frame(topic))
					}
					if from == "f" {
						old := pub.signed(topic, 9, "from before this node was known")
						old.sealed = 29
						bad("old", old.frame(topic))
					}
					good(pub.signed(topic, 60, "three"))
					good(pub.signed(topic, 59, "four, which was signed earlier"))
					require.Empty(t, strict)
				})
			})
		}
	}
}

func TestWhatIsTooShortForASignatureIsMalformed(t *testing.T) {
	// This test says that messages are signed which have no room for that, or whose
	// headers reach into it.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "news.>")
		for n, m := range []single{
			{Body: make([]byte, wire.AuthorshipSize-1)},
			{Headers: []wire.Header{{Key: "k", Value: string(make([]byte, 100))}}},
		} {
			m.Publish = wire.Publish{Session: 1, Run: run1, Number: 1, Flags: wire.FlagSigned}
			m.Topic = "news.a"
			l.publish("p", m)
			require.EqualValues(t, n+1, l.dropped(env.DropMalformed))
		}
		require.Empty(t, got)
	})
}

func TestWhatIsNotSignedGoesToWhoDoesNotAsk(t *testing.T) {
	// This test has two subscriptions of a queue on one node, of which one asks for
	// signatures: what is not signed is for the other one, and if there is none it is a
	// gap.
	alone(t, func(t *testing.T, l *lone) {
		strict := l.hears(t, "news.>", patterns.SubscribeOptions{Queue: "q", Signed: true})
		ended := make(catcher, 100)
		lax, err := l.Engine.Subscribe(t.Context(), "news.>", ended, patterns.SubscribeOptions{Queue: "q"})
		require.NoError(t, err)
		picks := []wire.Pick{{Queue: env.HashQueue("news.>", "q"), Node: l.base.Hash}}
		for n := range uint64(4) {
			l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: n + 1}, Topic: "news.a", Picks: picks})
			require.Equal(t, "news.a ", ended.next(t))
		}
		require.NoError(t, lax.Close(t.Context()))
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 5}, Topic: "news.a", Picks: picks})
		require.Equal(t, "gap 1 unsigned", strict.next(t))
		require.Empty(t, strict)
	})
}

func TestRootMessagesAreTakenOnceInTheOrderOfTheirAuthor(t *testing.T) {
	// This test has the forwarder that a publisher has in the root group change and repeat
	// what it passes on, for a pattern that begins with a wildcard.
	alone(t, func(t *testing.T, l *lone) {
		strict, pub := l.hears(t, "*.a", patterns.SubscribeOptions{Signed: true}), author("pub")
		chosen := chooses("pub", security.RootForwarder{Incarnation: 1, Serial: 11, Floor: 10, Forwarder: "f"})
		rank := uint64(0)
		brings := func(w work, flags uint8) {
			rank++
			m := w.frame("news.a")
			if flags == 0 {
				m.Flags, m.Body = 0, []byte("invented")
			}
			m.Flags |= wire.FlagRoot | wire.FlagOrigin
			m.Number, m.Source, m.Forwarder = rank, "f", chosen
			m.Origin = wire.Origin{Peer: string(peerOf("pub")), Incarnation: 1, Serial: rank}
			l.publish("f", m)
		}
		one := pub.signed("news.a", 12, "one")
		one.said.Session = 77 // of the group; nobody in the root group knows it
		brings(one, wire.FlagSigned)
		require.Equal(t, "news.a one", strict.next(t))
		changed := pub.signed("news.a", 13, "two")
		changed.other = "changed"
		for _, w := range []work{one, changed, pub.signed("news.a", 10, "before this node was known")} {
			brings(w, wire.FlagSigned)
			require.Equal(t, "gap 1 unsigned", strict.next(t))
		}
		brings(one, 0)
		require.Equal(t, "gap 1 unsigned", strict.next(t))
		brings(pub.signed("news.a", 14, "three"), wire.FlagSigned)
		require.Equal(t, "news.a three", strict.next(t))
	})
}

// signing counts what a publisher has signed since it was called last.
func (s *stage) signing() func() uint64 {
	before := s.base.Counts.Signatures.Load()
	return func() uint64 {
		now := s.base.Counts.Signatures.Load()
		defer func() { before = now }()
		return now - before
	}
}

func TestPublishersSignOnlyWhereSomebodyAsks(t *testing.T) {
	// This test counts signatures: one for each message on topics that somebody who asks
	// listens to, none on others, none before it comes and none after it has gone, as a
	// frame of no message changes by a byte for that.
	staged(t, [][]wire.Interest{{{Pattern: "news.>"}}, {{Pattern: "news.b", Signed: true}}}, func(t *testing.T, s *stage) {
		with := s.view.view
		without := with
		without.Members = with.Members[:1]
		s.view.show(without)
		signed := s.signing()
		publish := func(topic string) {
			t.Helper()
			for range 3 {
				s.says(t, topic, "x")
			}
		}
		publish("news.b")
		require.Zero(t, signed())
		s.view.show(with)
		publish("news.a")
		require.Zero(t, signed(), "on a topic that it does not listen to")
		publish("news.b")
		require.EqualValues(t, 3, signed())
		s.view.show(without)
		publish("news.b")
		require.EqualValues(t, 1, signed(), "the first one is signed before it is known")
		publish("news.b")
		require.Zero(t, signed())
		s.view.show(with)
		publish("news.b")
		require.EqualValues(t, 3, signed(), "it is back")
	})
}

func TestUplinksSignWhereAForwarderAsks(t *testing.T) {
	// This test has a forwarder of the root group say that somebody behind it asks for
	// signatures, and no longer.
	alone(t, func(t *testing.T, l *lone) {
		var view registrations
		l.base.Cfg.Directory = forwarded{nobody{}, &view}
		show := func(payload []byte) {
			view.show(cluster.View{Known: true, Complete: true, Members: []*cluster.Member{{ID: 1, Peer: "f", Incarnation: 1, Payload: payload}}})
		}
		count := func() uint64 {
			before := l.base.Counts.Signatures.Load()
			require.NoError(t, l.Publish(t.Context(), "news.b", patterns.Message{}, patterns.PublishOptions{}))
			return l.base.Counts.Signatures.Load() - before
		}
		l.links = map[peer.ID]*fake.Link{"f": {With: "f", Life: 1, Room: -1}}
		show(nil)
		count() // the forwarder itself is signed for
		require.Zero(t, count())
		show(wire.AppendInterests(nil, []wire.Interest{{Pattern: ">", Signed: true}}))
		require.EqualValues(t, 1, count())
		show([]byte("?"))
		require.Zero(t, count())
	})
}

// forwarded is a directory that shows the forwarders of the root group, and nobody else.
type forwarded struct {
	nobody
	forwarders *registrations
}

func (d forwarded) Watch(name string) env.Watch {
	if name == env.ClusterOf(env.RootForwards) {
		return d.forwarders.Watch(name)
	}
	return empty{}
}

func TestALeaseAsksForSignaturesAsLongAsSomebodyDoes(t *testing.T) {
	// This test adds and takes away subscriptions that want the same, some of them signed:
	// the lease asks as long as one of them does, and Subscribe waits for the lease that
	// does, also where the pattern is within a coarser one that does not ask.
	alone(t, func(t *testing.T, l *lone) {
		g := func() *group { groups, _ := l.local.all(); return groups[0] }
		told := func() []wire.Interest {
			time.Sleep(time.Second)
			synctest.Wait()
			g().mu.Lock()
			defer g().mu.Unlock()
			return g().told
		}
		l.listens(t, "news.>")
		require.Equal(t, []wire.Interest{{Pattern: "news.>"}}, told())
		for range 2 {
			s, err := l.Engine.Subscribe(t.Context(), "news.>", make(catcher, 1), patterns.SubscribeOptions{Signed: true})
			require.NoError(t, err)
			require.Equal(t, []wire.Interest{{Pattern: "news.>", Signed: true}}, told())
			require.NoError(t, s.Close(t.Context()))
			require.Equal(t, []wire.Interest{{Pattern: "news.>"}}, told())
		}
		within, err := l.Engine.Subscribe(t.Context(), "news.a", make(catcher, 1), patterns.SubscribeOptions{Signed: true})
		require.NoError(t, err)
		require.Contains(t, told(), wire.Interest{Pattern: "news.a", Signed: true})
		require.NoError(t, within.Close(t.Context()))
	})
}

// BenchmarkASignedMessage measures what a signed message costs the node that hears it, if
// its subscription asks for signatures, and if not. The first one is repeated, so where
// somebody asks it is verified and then refused.
func BenchmarkASignedMessage(b *testing.B) {
	for name, signed := range map[string]bool{"asked": true, "not asked": false} {
		b.Run(name, func(b *testing.B) {
			l := newLone(b)
			l.ignores(b, patterns.SubscribeOptions{Signed: signed})
			l.base.Signers.All = pace.New[peer.ID](pace.Limit{}, 1) // one peer sends as fast as it can
			from := env.Link(deadLink{peerOf("pub")})
			body := author("pub").signed("news.a", 20, "a message").frame("news.a").frame()
			b.ReportAllocs()
			for n := uint64(1); b.Loop(); n++ {
				head := wire.Publish{Session: 1, Run: run1, Number: n}
				head.AppendHead(body[:0])
				l.handlers[wire.KindPublish](from, body)
			}
		})
	}
}
