// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// TestFaultsAreDrawnOneByOneUntilTheyAreMany proves that a few faults are bands
// with labels, and many are counted by kind, none lost.
func TestFaultsAreDrawnOneByOneUntilTheyAreMany(t *testing.T) {
	s := time.Second
	h := &history.History{Safety: 60 * s, End: 70 * s}
	for i := range maxLabelled {
		at := time.Duration(i) * s
		h.Faults = append(h.Faults, history.Fault{At: at, Until: at + 3*s, Do: "cut", Nodes: []string{"a"}, Text: fmt.Sprint("cut number ", i)})
	}
	rows := faultRows(newAxis(h), bands(h))
	require.Len(t, rows, 1)
	require.Len(t, rows[0].Bands, maxLabelled)
	require.Equal(t, stretch{From: 2000, To: 5000, Look: "links", Label: "cut number 2", Text: "cut number 2: from 2.000 s to 5.000 s"}, rows[0].Bands[2])

	h.Faults = append(h.Faults, history.Fault{At: 30 * s, Until: -1, Do: "crash", Nodes: []string{"b"}})
	rows = faultRows(newAxis(h), bands(h))
	require.Len(t, rows, 2)
	require.Equal(t, []string{"cut × 24", "at most 3 at once", "links"}, []string{rows[0].Label, rows[0].Note, rows[0].Look})
	require.Equal(t, []string{"crash × 1", "at most 1 at once", "away"}, []string{rows[1].Label, rows[1].Note, rows[1].Look})
}

// TestWhatEndsAFaultIsNotDrawn proves that an action that only undoes another
// has no band of its own, and that one that undoes nothing has.
func TestWhatEndsAFaultIsNotDrawn(t *testing.T) {
	s := time.Second
	h := &history.History{Safety: 60 * s, End: 70 * s, Faults: []history.Fault{
		{At: 10 * s, Until: 15 * s, Do: "crash", Nodes: []string{"m1"}},
		{At: 15 * s, Until: 15 * s, Do: "restart", Nodes: []string{"m1"}},
		{At: 20 * s, Until: 20 * s, Do: "start", Nodes: []string{"m9"}},
	}}
	var drawn []string
	for _, b := range bands(h) {
		drawn = append(drawn, b.Do)
	}
	require.Equal(t, []string{"crash", "start"}, drawn)
}

// TestTrafficIsSpreadWithoutLoss proves that buckets add up to the bytes sent,
// over two lives of a node.
func TestTrafficIsSpreadWithoutLoss(t *testing.T) {
	s := time.Second
	h := &history.History{End: 60 * s, Nodes: []history.Node{{Name: "a", Until: 20 * s}, {Name: "a", From: 30 * s, Until: -1}}, Samples: []history.Sample{
		{At: 1 * s, Node: "a", Sent: [4]uint64{100}},
		{At: 11 * s, Node: "a", Sent: [4]uint64{1100, 50}},
		{At: 32 * s, Node: "a", Sent: [4]uint64{40, 8}}, // after a restart
		{At: 33 * s, Node: "a", Sent: [4]uint64{90, 8}},
	}}
	a := newAxis(h)
	got := measure(a, h)["a"]
	require.Equal(t, [4]float64{1190, 58, 0, 0}, got.total)
	sum := 0.0
	for _, v := range got.rate[0] {
		sum += v
	}
	require.InDelta(t, 1190, sum, 0.001)
	require.Zero(t, got.rate[0][a.index(25*s)], "nothing while it was away")
	require.InDelta(t, got.rate[0][a.index(3*s)], got.rate[0][a.index(8*s)], 0.001, "evenly between two samples")
}

// TestNodesThatFaultsHitAreShownFirst proves who gets one of few swim lanes.
func TestNodesThatFaultsHitAreShownFirst(t *testing.T) {
	h := &history.History{}
	for i := range 100 {
		h.Nodes = append(h.Nodes, history.Node{Name: fmt.Sprint("n", i)})
	}
	h.Tenures = []history.Tenure{{Node: "n50"}, {Node: "n7"}}
	h.Requests = []history.Request{{Caller: "n80"}}
	h.Faults = []history.Fault{{Nodes: []string{"n99"}, Do: "crash"}, {Nodes: []string{"n3", "n4"}, Do: "cut"}}
	require.Equal(t, []string{"n99"}, pickNodes(h, 1))
	require.Equal(t, []string{"n3", "n4", "n7", "n50", "n80", "n99"}, pickNodes(h, 6))
	require.Len(t, pickNodes(h, 40), 40)
	require.Len(t, pickNodes(h, 200), 100)
}

// TestMembersBeyondTheRowsShareOne proves that no request is forgotten.
func TestMembersBeyondTheRowsShareOne(t *testing.T) {
	var lines []*memberLine
	for i := range 100 {
		lines = append(lines, &memberLine{Member: Member{Cluster: "echo", Node: fmt.Sprint("m", i), Requests: i, Share: float64(i) / 4950}, rate: []float64{float64(i)}})
	}
	shown, rest := pickMembers(lines, map[string]float64{"m42": 1})
	require.Len(t, shown, shownMembers)
	require.Contains(t, shown, lines[42])
	require.Contains(t, shown, lines[99], "the busiest")
	require.Contains(t, shown, lines[0], "the idlest")
	sum := rest.Requests
	for _, l := range shown {
		sum += l.Requests
	}
	require.Equal(t, 4950, sum)
}

// TestLatencyRangeCoversWhatWasMeasured proves that the scale begins and ends
// at 1, 2 or 5 times a power of ten.
func TestLatencyRangeCoversWhatWasMeasured(t *testing.T) {
	for _, c := range []struct{ low, high, from, to float64 }{
		{0, 0, 1, 100},
		{12, 45, 10, 100},
		{3, 900, 2, 1000},
		{0.07, 0.3, 0.05, 0.5},
		{5, 2100, 5, 5000},
		{7, 7, 5, 50},
	} {
		from, to := latencyRange(c.low, c.high)
		require.InEpsilon(t, c.from, from, 1e-9, "%v", c)
		require.InEpsilon(t, c.to, to, 1e-9, "%v", c)
	}
}

// TestFaultsAtOnceAreCounted proves that a fault that begins when another ends
// is not counted beside it.
func TestFaultsAtOnceAreCounted(t *testing.T) {
	s := time.Second
	a := newAxis(&history.History{End: 60 * s})
	values := a.inEffect([]band{{from: 1 * s, to: 2 * s}, {from: 2 * s, to: 4 * s}, {from: 3 * s, to: 3 * s}, {from: 50 * s, to: 90 * s}})
	require.InDelta(t, 2, slices.Max(values), 0)
	require.InDelta(t, 1, values[a.index(2*s)], 0)
	require.InDelta(t, 2, values[a.index(3*s)], 0)
	require.InDelta(t, 0, values[a.index(10*s)], 0)
	require.InDelta(t, 1, values[a.n-1], 0)
}

// TestOverlappingHitsShareTheLane proves that two directions of a cut are one,
// and that other faults at the same time get half of the lane each.
func TestOverlappingHitsShareTheLane(t *testing.T) {
	s := time.Second
	fault := func(do string, from, to time.Duration) band {
		return band{Fault: history.Fault{Do: do, Nodes: []string{"a"}, At: from, Until: to}, from: from, to: to}
	}
	hits := hitsOf([]band{fault("cut", 1*s, 5*s), fault("cut", 1*s, 6*s), fault("slow", 4*s, 9*s), fault("crash", 7*s, 8*s), fault("pause", 20*s, 21*s)}, "a")
	require.Len(t, hits, 3)
	require.Equal(t, 6*s, hits[0].to)
	require.True(t, hits[0].shared && hits[1].shared && hits[0].row != hits[1].row)
	require.False(t, hits[2].shared)
}

// TestDeliveriesAndReportsAreCountedWhenTheyCome proves that every delivery and
// every missing message is in a column of its group, and no other one.
func TestDeliveriesAndReportsAreCountedWhenTheyCome(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	h := &history.History{
		End:           60 * s,
		Subscriptions: []history.Subscription{{Name: "b"}, {Name: "a", Pattern: "x.>"}, {Name: "a", Pattern: "x.>"}},
		Publications:  []history.Publication{{ID: 7, Sent: 10 * s}, {ID: 8, Sent: 20 * s}},
		Deliveries: []history.Delivery{
			{Publication: 7, Subscription: 1, At: 10*s + 5*ms},
			{Publication: 7, Subscription: 2, At: 10*s + 15*ms},
			{Publication: 8, Subscription: 0, At: 21 * s},
			{Publication: 99, Subscription: 1, At: 30 * s}, // of nobody: it came, but took no time
		},
		Gaps: []history.Gap{{Subscription: 2, At: 25 * s, Missed: 4}, {Subscription: 1, At: 25 * s, Missed: 1}},
	}
	a := newAxis(h)
	all := topicGroups(a, h)
	require.Len(t, all, 2)
	x, y := all[0], all[1]
	require.Equal(t, []any{"a", 2, 3, 5}, []any{x.name, x.subscriptions, x.came, x.missed})
	require.Equal(t, []any{"b", 1, 1, 0}, []any{y.name, y.subscriptions, y.came, y.missed})
	require.InDelta(t, 2, x.delivered[a.index(10*s)], 0)
	require.InDelta(t, 1, x.delivered[a.index(30*s)], 0)
	require.InDelta(t, 5, x.reported[a.index(25*s)], 0)
	p99, p50 := percentileRow(x.took, 1).Series[0].Values, percentileRow(x.took, 1).Series[1].Values
	require.InDelta(t, 5, p50[a.index(10*s)], 0)
	require.InDelta(t, 15, p99[a.index(10*s)], 0)
	require.Zero(t, p50[a.index(30*s)])
	require.InDelta(t, 1000, percentileRow(y.took, 1).Series[1].Values[a.index(21*s)], 0)
}

// TestTunnelsAreCountedWhileTheyAreOpen proves how many are open at once, that
// no byte is lost between columns, and which ends are bad.
func TestTunnelsAreCountedWhileTheyAreOpen(t *testing.T) {
	s := time.Second
	h := &history.History{
		End: 60 * s,
		Tunnels: []history.Tunnel{
			{Work: "w", Opened: 1 * s, Ended: 10 * s, Outcome: "done"},
			{Work: "w", Opened: 5 * s, Ended: 20 * s, Outcome: "interrupted"},
			{Work: "w", Opened: 5 * s, Ended: 6 * s, Outcome: "closed", Lost: true},
			{Work: "w", Sent: 30 * s, Opened: -1, Ended: 31 * s, Outcome: "unreachable"},
			{Work: "w", Opened: 50 * s, Ended: -1},
		},
		Carried: []history.Carried{{At: 5 * s, Work: "w", Forth: 100, Back: 7}, {At: 5900 * time.Millisecond, Work: "w", Forth: 11}},
	}
	a := newAxis(h)
	all := tunnelWorks(a, h)
	require.Len(t, all, 1)
	l := all[0]
	require.Equal(t, []int{5, 1, 1, 3}, []int{l.tunnels, l.done, l.refused, l.bad})
	require.Equal(t, [2]float64{111, 7}, l.total)
	sum := 0.0
	for _, v := range l.forth {
		sum += v
	}
	require.InDelta(t, 111, sum, 0.001)
	for at, want := range map[time.Duration]float64{3 * s: 1, 5500 * time.Millisecond: 3, 8 * s: 2, 15 * s: 1, 25 * s: 0, 55 * s: 1} {
		require.InDelta(t, want, l.open[a.index(at)], 0, "%v", at)
	}
	require.InDelta(t, 1, l.ends[a.index(20*s)], 0)
	require.InDelta(t, 1, l.ends[a.index(31*s)], 0)
	require.Zero(t, l.ends[a.index(6*s)], "its caller was hit")
}

// TestNumbersAreWrittenForPeople proves the formats.
func TestNumbersAreWrittenForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"0": inMillis(0), "250 µs": inMillis(0.25), "1.5 ms": inMillis(1.5), "999 ms": inMillis(999.2), "1 s": inMillis(999.7),
		"12.3 s": inMillis(12_345), "16.7 min": inMillis(1_000_000),
		"950": amount(950), "12.4 k": amount(12_400), "1 M": amount(999_999), "2 G": amount(2e9),
		"812 B": size(812), "14.2 KB": size(14_200), "3 MB": size(3e6),
		"7": grouped(7), "-1,000": grouped(-1000), "200,000": grouped(200_000), "1,234,567": grouped(1_234_567),
		"1 life": several(1, "life"), "2 lives": several(2, "life"), "0 deliveries": several(0, "delivery"), "3 nodes": several(3, "node"),
	} {
		require.Equal(t, want, got)
	}
}

// TestBucketsAreReadable proves into what a run is cut.
func TestBucketsAreReadable(t *testing.T) {
	for span, want := range map[time.Duration]time.Duration{
		time.Second: 10 * time.Millisecond, 70 * time.Second: 500 * time.Millisecond, 3 * time.Minute: 2 * time.Second,
		30 * time.Minute: 15 * time.Second, 30 * time.Hour: 15 * time.Minute,
	} {
		require.Equal(t, want, newAxis(&history.History{End: span}).bucket, "%v", span)
	}
	require.Positive(t, step(1000*24*time.Hour, 10))
}

// TestAMomentKeepsItsWorstAndItsLast proves that views that change often are
// drawn with few steps, of which none hides what was wrong.
func TestAMomentKeepsItsWorstAndItsLast(t *testing.T) {
	ms := time.Millisecond
	got := moments([]check.ViewStep{
		{At: 1 * ms, Watching: 4, Right: 4},
		{At: 2 * ms, Watching: 4, Right: 1, Dead: 3},
		{At: 3 * ms, Watching: 4, Right: 3, Suspect: 2},
		{At: 25 * ms, Watching: 4, Right: 4},
	}, 10*ms)
	require.Equal(t, []check.ViewStep{
		{At: 1 * ms, Watching: 4, Right: 1, Dead: 3, Suspect: 2},
		{At: 3 * ms, Watching: 4, Right: 3, Suspect: 2},
		{At: 25 * ms, Watching: 4, Right: 4},
	}, got)
}
