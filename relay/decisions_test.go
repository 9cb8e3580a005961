// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/proof"
	"github.com/arke-mesh/arke/relay/policy"
)

// TestHelloIsJudged proves who is welcomed, and which of several faults is told:
// what the client can mend first.
func TestHelloIsJudged(t *testing.T) {
	fits := wire.LeafHello{MinVersion: 1, MaxVersion: 1}
	x := &proof.Exchange{Client: [32]byte{1}, Relay: [32]byte{2}, Address: "127.0.0.1:4078"}
	tokens := []Token{{"one", "sixteen letters."}, {"two", "sixteen letters!"}}
	proven := x.OfClient(tokens[1].Secret)
	token := wire.LeafHello{MinVersion: 1, MaxVersion: 1, Proof: proven[:]}
	future := wire.LeafHello{MinVersion: 2, MaxVersion: 9}
	for _, tt := range []struct {
		name  string
		hello wire.LeafHello
		at    access
		want  wire.EndCode // 0 = welcome
	}{
		{"over the socket", fits, access{local: true}, 0},
		{"a wider range", wire.LeafHello{MinVersion: 1, MaxVersion: 9}, access{local: true}, 0},
		{"with a token", token, access{tokens: tokens, exchange: x}, 0},
		{"over the socket, with a token", token, access{local: true, tokens: tokens, exchange: x}, 0},
		{"over the socket, with another relay's", token, access{local: true, tokens: tokens[:1], exchange: x}, wire.EndToken},
		{"with another relay's", token, access{tokens: tokens[:1], exchange: x}, wire.EndToken},
		{"with a proof that nobody asked for", token, access{tokens: tokens}, wire.EndToken},
		{"without a proof", fits, access{tokens: tokens, exchange: x}, wire.EndToken},
		{"without a challenge", fits, access{tokens: tokens}, wire.EndToken},
		{"where there is no token", token, access{exchange: x}, wire.EndToken},
		{"from the future", future, access{local: true}, wire.EndVersion},
		{"from the future, without the token", future, access{tokens: tokens}, wire.EndVersion},
	} {
		version, refusal := judge(&tt.hello, tt.at)
		if tt.want == 0 {
			require.Nil(t, refusal, tt.name)
			require.Equal(t, uint16(1), version, tt.name)
			continue
		}
		require.Equal(t, tt.want, refusal.Code, tt.name)
		require.NotEmpty(t, refusal.Text, tt.name)
	}
}

// TestEveryDropHasAName proves that the keys of the status are names, each once.
func TestEveryDropHasAName(t *testing.T) {
	seen := map[string]bool{}
	for d := range dropCount {
		require.NotEmpty(t, d.String())
		require.False(t, seen[d.String()], d)
		seen[d.String()] = true
	}
}

// TestLossesAreToldTogether proves that subscriptions which miss the same are told
// in one frame, that different reasons are told apart, and that a number is
// nobody's after it was told.
func TestLossesAreToldTogether(t *testing.T) {
	var l losses
	require.True(t, l.empty())
	l.add([]uint64{1, 2}, patterns.Gap{From: "p", Missed: 1, Exact: true, Reason: patterns.GapSlow})
	l.add([]uint64{1, 2}, patterns.Gap{From: "p", Missed: 2, Exact: true, Reason: patterns.GapSlow})
	l.add([]uint64{3}, patterns.Gap{From: "p", Missed: 3, Exact: true, Reason: patterns.GapSlow})
	l.add([]uint64{2}, patterns.Gap{From: "q", Reason: patterns.GapRelay})
	l.add([]uint64{3}, patterns.Gap{From: "q", Missed: 1, Exact: true, Reason: patterns.GapSlow})
	l.add([]uint64{4}, patterns.Gap{From: "q", Missed: 1, Exact: true, Reason: patterns.GapSlow})
	l.forget(4)
	var told []wire.Gap
	for !l.empty() {
		g := l.next()
		l.told(&g)
		told = append(told, g)
	}
	require.Equal(t, []wire.Gap{
		{Subscriptions: []uint64{1, 2}, Missed: 3, Exact: true, Reason: wire.GapSlow, Publisher: "p"},
		{Subscriptions: []uint64{2}, Reason: wire.GapRelay, Publisher: "q"},
		{Subscriptions: []uint64{3}, Missed: 4, Exact: true, Reason: wire.GapSlow},
	}, told)
}

// TestLateAnswersAreBounded proves what becomes of answers that find no room.
func TestLateAnswersAreBounded(t *testing.T) {
	limits := &Limits{Requests: 2, RequestBytes: 10 << 10}
	l := late{room: newShares(Totals{Bytes: 1 << 30}, 1).bytes.Portion(1, 0, 1)}
	require.Equal(t, lateWaits, l.take(20<<10, limits), "one that is alone has room")
	require.Equal(t, lateLost, l.take(2<<10, limits))
	require.Equal(t, lateWaits, l.take(100, limits), "a small one is not worth replacing")
	require.Equal(t, lateWaits, l.take(100, limits))
	require.Equal(t, lateFlood, l.take(100, limits))
	l.done(20 << 10)
	require.Equal(t, lateLost, l.take(2<<10, limits), "too many wait")

	l = late{room: newShares(Totals{Bytes: 1}, 1).bytes.Portion(1, 4<<10, 1)}
	require.Equal(t, lateWaits, l.take(5<<10, limits), "one that is alone has room, whatever others hold")
	require.Equal(t, lateLost, l.take(2<<10, limits), "the client has its share")
	l.done(5 << 10)
	require.Equal(t, lateWaits, l.take(3<<10, limits), "what is its own it has")
}

// TestARightThatIsKnownCostsNothing proves that a name which was allowed once costs no
// allocation any more, whoever asks.
func TestARightThatIsKnownCostsNothing(t *testing.T) {
	p, err := policy.Parse("anyone may publish a.>", nil)
	require.NoError(t, err)
	var l law
	r := &rights{law: &l, count: newCounters(), log: zap.NewNop()}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = r.refuse(policy.Publish, "a.b") }), "no policy")
	l.policy.Store(p)
	require.NoError(t, r.refuse(policy.Publish, "a.b"))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = r.refuse(policy.Publish, "a.b") }))
	require.Equal(t, uint64(1), l.allowed.Load())
	for i := range 2 * maxKnown {
		require.NoError(t, r.refuse(policy.Publish, "a."+strconv.Itoa(i)))
		require.LessOrEqual(t, len(r.known), maxKnown)
	}
}

// BenchmarkRefuse is what each message of a client costs under a policy.
func BenchmarkRefuse(b *testing.B) {
	p, err := policy.Parse("anyone may publish a.>", nil)
	require.NoError(b, err)
	for name, p := range map[string]*policy.Policy{"none": nil, "policy": p} {
		b.Run(name, func(b *testing.B) {
			var l law
			l.policy.Store(p)
			r := &rights{law: &l, count: newCounters(), log: zap.NewNop()}
			b.ReportAllocs()
			for b.Loop() {
				if r.refuse(policy.Publish, "a.topic.of.usual.length") != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}

func TestCountsOfOneNameAreAdded(t *testing.T) {
	// This test counts ends of several codes that have no name of their own: none of
	// them hides another.
	c := newCounters()
	for i, n := range map[wire.EndCode]uint64{0: 2, 3: 1, wire.EndOther: 4, wire.EndToken: 5} {
		c.ended[i].Add(n)
		c.refused[i].Add(n)
	}
	require.Equal(t, map[string]uint64{"ended.other": 7, "ended.token": 5, "refused.other": 7, "refused.token": 5}, c.snapshot())
}
