// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// author publishes on topic news.a, by the name whose key it has.
type author string

// comes has a message of the author come from a node.
func (a author) comes(l *lone, from string, session, number uint64, body string) {
	a.brings(l, from, number, single{Publish: wire.Publish{Session: session, Run: run1}, Topic: "news.a", Body: []byte(body)})
}

// marks has a node say how much the author has addressed to this one.
func (a author) marks(l *lone, from string, session, number uint64) {
	l.marks(from, wire.PublishMark{Session: session, Run: run1, Number: number, Source: string(peerOf(string(a))), Group: "news"})
}

// path is one that the author has signed, when that much was addressed to this node,
// for those forwarders.
func (a author) path(session, serial, number uint64, via ...string) *wire.Path {
	p := &wire.Path{Session: session, Run: run1, Number: number, Epoch: uint32(serial), Source: string(peerOf(string(a))), Group: "news"}
	p.Proof.Serial = serial
	proven(string(a), p, via...)
	return p
}

func TestNobodySpeaksForAPublisherThatHasNotSignedForIt(t *testing.T) {
	// This test has a node send, mark and declare lost what is a publisher's, in its
	// session and in others, with a path that is signed by itself, for another
	// receiver, for an earlier life of this one, or for another forwarder, and with
	// the true path changed: nothing of that counts, and what the publisher sends
	// itself arrives as if nothing had been said.
	alone(t, func(t *testing.T, l *lone) {
		got, pub, true1 := l.listens(t, "news.>"), author("pub"), string(peerOf("pub"))
		pub.comes(l, true1, 1, 1, "one")
		require.Equal(t, "news.a one", got.next(t))

		lies := []func(p *wire.Path){
			func(p *wire.Path) { proven("liar", p, "liar") },
			func(p *wire.Path) { p.Run = wire.MakeRun(2, 0, 1); proven("pub", p, "liar") },
			func(p *wire.Path) { proven("pub", p, "forwarder") },
			func(p *wire.Path) { p.Proof.Steps[0].Peer = "other" },
			func(p *wire.Path) { p.Proof.Steps[0].Next.Index = 1 },
			func(p *wire.Path) { p.Proof.Steps = nil },
			func(p *wire.Path) { p.Proof.Base++ },
			func(p *wire.Path) { p.Proof.Serial++ },
			func(p *wire.Path) { p.Proof.Floor-- },
			func(p *wire.Path) { p.Proof.Behind = make([]byte, wire.DigestSize) },
			func(p *wire.Path) { p.Stops = []wire.Stop{{Peer: "a"}} },
			func(p *wire.Path) { p.Session = 2 },
			func(p *wire.Path) { p.Group = "other" },
			func(p *wire.Path) { p.Number += env.MaxLead + 1 },
			func(p *wire.Path) { p.Proof.Signature[0]++ },
		}
		for i, lie := range lies {
			p := pub.path(1, 1, 1, "liar")
			lie(p)
			before := l.dropped(env.DropNotNamed) + l.dropped(env.DropEarlier)
			l.shows("liar", p)
			require.Equal(t, before+1, l.dropped(env.DropNotNamed)+l.dropped(env.DropEarlier), "lie %d", i)
			for session := range uint64(3) {
				pub.comes(l, "liar", session, 2, "forged")
				pub.marks(l, "liar", session, 1<<61)
				l.marks("liar", wire.PublishMark{Session: session, Run: run1, Number: 2, Flags: wire.FlagGone, Source: true1, Group: "news"})
			}
			require.Equal(t, before+10, l.dropped(env.DropNotNamed)+l.dropped(env.DropEarlier), "lie %d", i)
		}
		own := single{Publish: wire.Publish{Session: 9, Run: run1, Number: 1, Flags: wire.FlagOrigin, Source: "liar", Origin: wire.Origin{Peer: true1}}, Topic: "news.a"}
		l.publish("liar", own)
		require.EqualValues(t, 1, l.dropped(env.DropUnauthorized), "in its own session neither")
		time.Sleep(2 * env.HoleTime)
		pub.comes(l, true1, 1, 2, "two")
		require.Equal(t, "news.a two", got.next(t))
		require.Empty(t, got)

		l.shows("liar", pub.path(1, 1, 2, "liar"))
		pub.comes(l, "liar", 1, 3, "three")
		require.Equal(t, "news.a three", got.next(t), "as it is, the path is good")
		require.LessOrEqual(t, l.Status().Streams, 2)
	})
}

func TestAForwarderDoesNotGoBeyondWhatThePublisherSigned(t *testing.T) {
	// This test has a forwarder that the publisher's path names say that more was
	// addressed to this node than can have been: beyond what may be on its way since
	// the path was signed it is not believed. As far as it is, what it said is over
	// when the publisher's next path shows, or when what the publisher sends itself
	// would be late: it is asked to number anew.
	alone(t, func(t *testing.T, l *lone) {
		got, pub, true1 := l.listens(t, "news.>"), author("pub"), string(peerOf("pub"))
		asked := &fake.Link{With: peer.ID(true1), Life: 1, Room: -1}
		l.links = map[peer.ID]*fake.Link{peer.ID(true1): asked}

		l.shows("f", pub.path(1, 1, 0, "f"))
		pub.comes(l, "f", 1, 1, "one")
		pub.marks(l, "f", 1, 1<<61)
		pub.marks(l, "f", 1, env.MaxLead+1)
		pub.comes(l, "f", 1, env.MaxLead+1, "much later")
		require.EqualValues(t, 3, l.dropped(env.DropNotNamed))
		time.Sleep(2 * env.HoleTime)
		pub.comes(l, "f", 1, 2, "two")
		require.Equal(t, []string{"news.a one", "news.a two"}, []string{got.next(t), got.next(t)})

		pub.marks(l, "f", 1, env.MaxLead)
		time.Sleep(2 * env.HoleTime)
		require.Equal(t, "gap 65534", got.next(t))
		l.shows("g", pub.path(1, 2, 2, "g"))
		pub.comes(l, "g", 1, 3, "three")
		require.Equal(t, "news.a three", got.next(t), "the new path says that it was a lie")
		pub.comes(l, "f", 1, 4, "by the old one")
		require.EqualValues(t, 5, l.dropped(env.DropNotNamed), "with the one of what was skipped")

		pub.marks(l, "g", 1, 1000)
		time.Sleep(2 * env.HoleTime)
		require.Equal(t, "gap 997", got.next(t))
		require.Empty(t, asked.Said())
		pub.comes(l, true1, 1, 4, "four")
		pub.comes(l, true1, 1, 5, "five")
		require.Len(t, asked.Said(), 1, "once in a while")
		anew := single{Publish: wire.Publish{Session: 1, Run: run1 + 1, Number: 1}, Topic: "news.a", Body: []byte("six")}
		l.publish(true1, anew)
		require.Equal(t, "gap 0", got.next(t), "how much was addressed before nobody tells")
		require.Equal(t, "news.a six", got.next(t))
	})
}

func TestAnOldPathIsGoodForNothing(t *testing.T) {
	// This test has a forwarder show a path again after the publisher has signed
	// others: what it says by it can't be newer than those.
	alone(t, func(t *testing.T, l *lone) {
		got, pub := l.listens(t, "news.>"), author("pub")
		old := pub.path(1, 1, 0, "f")
		l.shows("f", old)
		pub.comes(l, "f", 1, 1, "one")
		l.shows("g", pub.path(1, 2, 1, "g"))
		pub.comes(l, "g", 1, 2, "two")
		l.shows("f", old)
		pub.comes(l, "f", 1, 3, "forged")
		require.EqualValues(t, 1, l.dropped(env.DropNotNamed))
		pub.comes(l, "f", 1, 1, "again")
		require.EqualValues(t, 1, l.dropped(env.DropLate))
		for serial := range uint64(maxPaths) {
			l.shows("g", pub.path(1, 3+serial, 2, "g"))
		}
		l.shows("f", old)
		require.EqualValues(t, 2, l.dropped(env.DropNotNamed), "it is not even remembered")
		require.Equal(t, []string{"news.a one", "news.a two"}, []string{got.next(t), got.next(t)})
		require.Empty(t, got)
	})
}

func TestNobodyIsAPublishersForwarderInTheRootGroupUnlessItSaysSo(t *testing.T) {
	// This test has a node of the root group pass on what no publisher has given it:
	// without a signature, with that for another forwarder, and with that of before.
	// A forwarder that has gone beyond what there was does not silence the publisher
	// that takes another one.
	alone(t, func(t *testing.T, l *lone) {
		got, numbers := l.listens(t, ">"), map[string]uint64{}
		through := func(forwarder string, said wire.RootForwarder, serial uint64, body string) {
			numbers[forwarder]++
			l.publish(forwarder, single{Publish: wire.Publish{
				Session: 1, Run: run1, Number: numbers[forwarder], Flags: wire.FlagRoot | wire.FlagOrigin, Source: forwarder,
				Origin: wire.Origin{Peer: string(peerOf("pub")), Incarnation: 1, Serial: serial}, Forwarder: said,
			}, Topic: "news.a", Body: []byte(body)})
		}
		f := chooses("pub", security.RootForwarder{Incarnation: 1, Serial: 1, Forwarder: "f"})
		through("liar", wire.RootForwarder{}, 1, "forged")
		through("liar", f, 1, "forged")
		through("liar", chooses("liar", security.RootForwarder{Incarnation: 1, Serial: 9, Forwarder: "liar"}), 1, "forged")
		require.EqualValues(t, 3, l.dropped(env.DropNotNamed))
		through("f", f, 1, "one")
		through("f", f, 1<<61, "from far away")
		through("f", f, 2, "two")
		g := chooses("pub", security.RootForwarder{Incarnation: 1, Serial: 2, Forwarder: "g", Rank: 2})
		through("g", g, 3, "three")
		through("f", f, 4, "forged")
		through("f", g, 4, "forged")
		require.EqualValues(t, 5, l.dropped(env.DropNotNamed))
		through("g", g, 4, "four")
		for _, want := range []string{"one", "from far away", "three", "four"} {
			require.Equal(t, "news.a "+want, got.next(t))
		}
		require.Empty(t, got)
	})
}

func TestASessionIsOfOneGroup(t *testing.T) {
	// This test has a publisher use its session of a group whose keys everybody has
	// for a topic that has to be sealed: it is not taken for one that need not be.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "sealed.>")
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.a"})
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 2}, Topic: "sealed.a", Body: []byte("in clear")})
		require.EqualValues(t, 1, l.dropped(env.DropUnauthorized))
		require.Empty(t, got)
	})
}

func TestOnlyTheHeadOfABranchSaysThatItIsLost(t *testing.T) {
	// This test has others than the head say that a path is lost: the tree stays.
	// The head is believed, about those behind it, and a receiver that doubts its
	// numbers gets others.
	staged(t, everybody(18), func(t *testing.T, s *stage) {
		s.say(t, "one")
		head, stop := s.leader()
		b := head.Branch
		says := func(from, about peer.ID, epoch uint32) {
			m := wire.PathLost{Session: s.p.Session, Epoch: epoch, Peer: string(about)}
			s.comes(string(from), wire.KindPathLost, m.AppendTo(nil))
		}
		says("stranger", stop.Peer, b.Epoch)
		says(stop.Peer, head.Peer, b.Epoch)
		says("stranger", stop.Peer, 0)
		require.Contains(t, s.p.Tree.Branches, b)
		require.Zero(t, stop.State.Doubted)
		run := stop.Run
		says(stop.Peer, stop.Peer, 0)
		require.Equal(t, run+1, stop.Run)
		require.Zero(t, stop.Number)
		require.True(t, stop.Direct())
		says(head.Peer, head.Peer, b.Epoch)
		require.NotContains(t, s.p.Tree.Branches, b)
	})
}
