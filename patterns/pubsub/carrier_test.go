// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

func TestThePassageOfAStream(t *testing.T) {
	// This test plays what gateways say of one publisher's messages, with what a node makes
	// of it: what it delivers, and what it tells to be missing.
	message := func(carrier, serial, lost uint64) wire.Crossed {
		return wire.Crossed{Kind: wire.CrossedMessage, Carrier: carrier, Serial: serial, Lost: lost}
	}
	notice := func(carrier, serial, lost uint64) wire.Crossed {
		return wire.Crossed{Kind: wire.CrossedNotice, Carrier: carrier, Serial: serial, Lost: lost}
	}
	deliver, late, nobodyKnows := landing{deliver: true}, landing{}, landing{unknown: true}
	after := func(missing uint64) landing { return landing{deliver: true, missing: missing} }
	missing := func(n uint64) landing { return landing{missing: n} }
	type moment struct {
		said wire.Crossed
		want landing
	}
	for name, story := range map[string][]moment{
		"in order, and some are for others": {{message(1, 5, 3), deliver}, {message(1, 6, 3), deliver}, {message(1, 9, 3), deliver}},
		"the gateway knows of losses":       {{message(1, 1, 0), deliver}, {message(1, 4, 2), after(2)}, {notice(1, 6, 4), missing(2)}, {notice(1, 6, 4), late}, {message(1, 7, 4), deliver}},
		"another gateway goes on":           {{message(1, 1, 0), deliver}, {message(2, 2, 0), deliver}, {message(2, 4, 0), deliver}, {message(3, 7, 9), after(2)}},
		"what the first one still had":      {{message(1, 1, 0), deliver}, {message(2, 4, 0), after(2)}, {message(1, 2, 0), late}, {message(1, 3, 0), late}, {message(2, 5, 0), deliver}},
		"overtaken":                         {{message(1, 2, 0), deliver}, {message(1, 1, 0), missing(1)}, {message(1, 3, 0), deliver}},
		"told, and then another gateway":    {{message(1, 1, 0), deliver}, {notice(1, 3, 2), missing(2)}, {message(2, 4, 0), deliver}},
		"all that comes is what is missing": {{notice(1, 3, 3), nobodyKnows}, {message(1, 4, 3), deliver}},
		"another one tells of losses":       {{message(1, 1, 0), deliver}, {notice(2, 3, 2), missing(2)}, {message(2, 4, 2), deliver}},
		"and knows no number":               {{message(1, 1, 0), deliver}, {notice(2, 0, 2), nobodyKnows}, {message(2, 4, 2), after(2)}},
		"a gateway that begins anew":        {{message(1, 1, 7), deliver}, {message(1, 2, 0), deliver}, {message(1, 3, 1), after(1)}},
		"the publisher is lost":             {{message(1, 1, 0), deliver}, {wire.Crossed{Kind: wire.CrossedEnd, Carrier: 2}, nobodyKnows}, {message(1, 2, 0), deliver}},
	} {
		var p passage
		for i, m := range story {
			require.Equal(t, m.want, p.take(&m.said), "%s, %d", name, i)
		}
	}
}

func TestALedgerKnowsWhatIsMissing(t *testing.T) {
	// This test has a gateway pass on, leave out and miss messages of two publishers: what
	// it says with the next one, and what it tells afterwards, each time once.
	l := newLedger(rand.IntN)
	a, b := ledgerKey{"a", 1}, ledgerKey{"b", 2}
	said, ok := l.pass(1, a, 1)
	require.True(t, ok)
	require.Equal(t, wire.Crossed{Stream: 1, Serial: 1, Publisher: []byte("a")}, said)
	require.Empty(t, l.due())

	l.leave(2, a, 2)
	l.leave(2, a, 3)
	l.leave(2, b, 7)
	require.Equal(t, []wire.Crossed{
		{Kind: wire.CrossedNotice, Stream: 1, Serial: 3, Lost: 2, Publisher: []byte("a")},
		{Kind: wire.CrossedNotice, Stream: 2, Serial: 7, Lost: 1, Publisher: []byte("b")},
	}, l.due())
	require.Empty(t, l.due())

	l.gap(3, "a", 5)
	require.Equal(t, []wire.Crossed{{Kind: wire.CrossedNotice, Stream: 1, Serial: 3, Lost: 7, Publisher: []byte("a")}}, l.due())
	said, _ = l.pass(4, a, 9)
	require.Equal(t, wire.Crossed{Stream: 1, Serial: 9, Lost: 7, Publisher: []byte("a")}, said)
	_, ok = l.pass(5, a, 8)
	require.False(t, ok, "another one has passed it by")
	require.Equal(t, []wire.Crossed{{Kind: wire.CrossedNotice, Stream: 1, Lost: 8, Publisher: []byte("a")}}, l.due(), "nothing is said of numbers")

	l.gap(6, "c", 0)
	require.Equal(t, []wire.Crossed{{Kind: wire.CrossedEnd, Publisher: []byte("c")}}, l.due())
}

func TestWhatAnotherGatewayHadIsToldToWhoeverHeardOfNoneOfIt(t *testing.T) {
	// This test has a publisher give some messages to another gateway, which loses them, and
	// then return: a node that has heard of some of them hears what is missing once, and a node
	// that heard of none is told of all.
	some, none := passage{}, passage{}
	first, second := newLedger(rand.IntN), newLedger(rand.IntN)
	brings := func(l *ledger, carrier, serial uint64, to ...*passage) (got []landing) {
		said, ok := l.pass(int64(serial), ledgerKey{"a", 1}, serial)
		require.True(t, ok)
		for _, p := range to {
			c := said
			c.Carrier = carrier
			got = append(got, p.take(&c))
		}
		return got
	}
	brings(&first, 1, 1, &some, &none)
	brings(&first, 1, 2, &some, &none)
	brings(&second, 2, 3, &some)
	brings(&second, 2, 4)
	require.Equal(t, []landing{{deliver: true, missing: 1}, {deliver: true, missing: 2}}, brings(&first, 1, 5, &some, &none))
	require.Equal(t, []landing{{deliver: true}, {deliver: true}}, brings(&first, 1, 6, &some, &none))
	require.Empty(t, first.due(), "the others need not be told")
	first.gap(7, "a", 2)
	require.Equal(t, []landing{{deliver: true, missing: 2}, {deliver: true, missing: 2}}, brings(&first, 1, 9, &some, &none))
}

func TestALedgerForgetsThoseOfWhoPublishesMost(t *testing.T) {
	// This test has one publisher publish in more streams than a gateway remembers: what is
	// known of another one's stays, and a new one's is remembered.
	l := newLedger(rand.IntN)
	l.leave(1, ledgerKey{"honest", 1}, 7)
	for n := range uint64(env.MaxStreams + 100) {
		said, ok := l.pass(1, ledgerKey{"hoarder", n}, n+1)
		require.True(t, ok)
		require.Equal(t, n+1, said.Serial)
	}
	l.leave(1, ledgerKey{"new", 1}, 7)
	for _, publisher := range []peer.ID{"honest", "new"} {
		said, ok := l.pass(1, ledgerKey{publisher, 1}, 8)
		require.True(t, ok)
		require.EqualValues(t, 1, said.Lost)
	}
	require.Equal(t, env.MaxStreams, l.all.Len())
}

func TestAGapIsOfTheSameStreamEachTime(t *testing.T) {
	// This test has a publisher publish in many streams at the same moment: of which one
	// its gap is told does not depend on the order of a map, as runs are to be replayed.
	for range 100 {
		l := newLedger(rand.IntN)
		for n := range uint64(16) {
			l.pass(1, ledgerKey{"p", 7 + n}, 1)
		}
		l.gap(1, "p", 3)
		due := l.due()
		require.Len(t, due, 1)
		require.EqualValues(t, 7, due[0].Stream)
	}
}

func TestAFullLedgerIsLookedThroughOnceASecond(t *testing.T) {
	// This test has a publisher use one stream more than a gateway remembers: that costs a
	// look at all of them now and then, not for each message.
	l := newLedger(rand.IntN)
	for n := range uint64(env.MaxStreams) {
		l.pass(1, ledgerKey{"p", n}, 1)
	}
	now := int64(env.StreamTime)
	l.pass(now, ledgerKey{"p", env.MaxStreams}, 1) // nothing is silent for long enough
	require.Equal(t, env.MaxStreams, l.all.Len())
	l.pass(now+2, ledgerKey{"p", env.MaxStreams}, 2)
	require.Equal(t, env.MaxStreams, l.all.Len(), "it was looked through a moment ago")
	l.pass(now+int64(env.RoomTime), ledgerKey{"p", env.MaxStreams}, 3)
	require.Zero(t, l.all.Len())
}

func TestACarrierRemembersNothingForNobody(t *testing.T) {
	// This test has a gateway carry messages and a notice where no program of its node
	// listens: they are not copied, nor their streams remembered, until one does.
	alone(t, func(t *testing.T, l *lone) {
		c, err := NewCarrier(l.Engine, "eu", "news")
		require.NoError(t, err)
		defer c.Close()
		put := func(n uint64) {
			c.Put("news.a", &Delivery{Topic: "news.a", Publisher: peerOf("pub"), Session: 1, Serial: n, Tails: [][]byte{wire.AppendTail(nil, nil, []byte("x"))}})
		}
		put(1)
		c.Leave(&Delivery{Publisher: peerOf("pub"), Session: 1, Serial: 2})
		time.Sleep(time.Second)
		require.Zero(t, l.local.abroad.sweep(l.base.Now()))

		got := l.listens(t, "news.>")
		put(3)
		require.Equal(t, "news.a x", got.next(t))
		require.Equal(t, 1, l.local.abroad.sweep(l.base.Now()))
	})
}

func TestAStreamIsWhatOneQueueOfGatewaysGets(t *testing.T) {
	// This test has a publisher's messages be for gateways to two networks, in this order,
	// in that one, and for one of them alone: what each gateway numbers is one stream.
	l := newLone(t)
	var streams []ledgerKey
	o := NewLender(l.Engine, sinkOf(func(d *Delivery) { streams = append(streams, streamOf(d)) }))
	s := &subscription{proxy: o, queue: 5}
	five, six := wire.Pick{Queue: 5, Node: 1, Serial: 3}, wire.Pick{Queue: 6, Node: 2, Serial: 3}
	for _, picks := range [][]wire.Pick{{five, six}, {six, five}, {five}} {
		s.lend(&Delivery{Publisher: "p", Session: 7}, five, picks)
	}
	require.Equal(t, []ledgerKey{{"p", 7 ^ 5}, {"p", 7 ^ 5}, {"p", 7 ^ 5}}, streams)
}

// sinkOf is a Sink for messages alone.
type sinkOf func(*Delivery)

func (f sinkOf) Deliver(d *Delivery, _ []uint64) { f(d) }
func (sinkOf) Gap(patterns.Gap, []uint64)        {}
