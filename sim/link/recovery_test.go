// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/link"
)

// delays sends count deliveries of one flow, that far apart, and returns the
// share of each delay beyond the latency.
func delays(t *testing.T, m link.Model, count, size int, apart time.Duration) func(from, to time.Duration) float64 {
	t.Helper()
	d := link.NewDirection(m, 1, "a", "b")
	var flow link.Flow
	var all []time.Duration
	for i := range count {
		now := time.Duration(i) * apart
		arrive, broken := d.Send(&flow, now, size)
		require.False(t, broken)
		all = append(all, arrive-now-m.Latency)
	}
	return func(from, to time.Duration) float64 {
		n := 0
		for _, d := range all {
			if from <= d && d <= to {
				n++
			}
		}
		return float64(n) / float64(count)
	}
}

// This test checks that a loss is a delay, as often as packets are lost: of a
// flow that sends seldom, by a timeout for each loss, equal ones at first.
func TestLossDelaysQuietFlows(t *testing.T) {
	m := link.Model{Latency: 10 * ms, Loss: 100_000}
	share := delays(t, m, 100_000, 100, time.Minute)
	rto := m.RTO()
	require.Equal(t, 220*ms, rto)
	require.InDelta(t, 0.9, share(0, 0), 0.01)
	require.InDelta(t, 0.09, share(rto, rto), 0.005)
	require.InDelta(t, 0.009, share(2*rto, 2*rto), 0.002)
	require.InDelta(t, 0.0009, share(3*rto, 3*rto), 0.0005)
}

// This test checks that a long delivery shows its own losses: only the last
// packet waits for the timeout.
func TestLongDeliveriesShowTheirLosses(t *testing.T) {
	m := link.Model{Latency: 10 * ms, Loss: 1000}
	share := delays(t, m, 100_000, 100*link.PacketSize, time.Minute)
	rtt := m.RTT()
	require.InDelta(t, 0.905, share(0, 0), 0.005)
	require.InDelta(t, 0.092, share(rtt, rtt), 0.005)
	require.InDelta(t, 0.002, share(rtt+rtt/4, rtt+rtt/4), 0.001)
	require.InDelta(t, 0.001, share(m.RTO(), m.RTO()), 0.0005)
}

// This test checks that what a flow sends later shows its losses: a packet each
// 50 ms, and a lost one is there 50 ms and a round trip later.
func TestLaterPacketsShowLosses(t *testing.T) {
	m := link.Model{Latency: 10 * ms, Loss: 20_000}
	share := delays(t, m, 100_000, 100, 50*ms)
	require.InDelta(t, 0.96, share(0, 20*ms), 0.01)
	require.InDelta(t, 0.02, share(75*ms, 75*ms), 0.004)
	require.Less(t, share(m.RTO(), time.Minute), 0.01)
}

// This test checks that a flow which waits for its last delivery to arrive before
// it sends the next one finds each loss by the timeout: nothing else shows it.
func TestStopAndWaitFindsLossesByTheTimeout(t *testing.T) {
	m := link.Model{Latency: 10 * ms, Loss: 100_000}
	d := link.NewDirection(m, 1, "a", "b")
	var flow link.Flow
	late, held := 0, 0
	for now, i := time.Duration(0), 0; i < 10_000; i++ {
		arrive, broken := d.Send(&flow, now, 100)
		require.False(t, broken)
		switch took := arrive - now; {
		case took >= m.RTO():
			late++
		case took > m.Latency:
			held++ // the one before is not acknowledged
		}
		now = arrive + m.Latency
	}
	require.InDelta(t, 1000, late, 100)
	require.Less(t, held, 100)
}

// This test checks that a busy flow hardly ever waits for a timeout, however
// many packets are lost, and that one with little under way does after a second
// loss of the same packet, and sends nothing else meanwhile.
func TestBusyFlowsRecoverFast(t *testing.T) {
	m := link.Model{Latency: 10 * ms, Loss: 200_000}
	busy := delays(t, m, 100_000, 100, 2*ms)
	require.Less(t, busy(m.RTO(), time.Minute), 0.03)
	some := delays(t, m, 100_000, 100, 50*ms)
	require.Greater(t, some(m.RTO(), time.Minute), 0.1)
}

// This test checks that a sender that waits puts what comes meanwhile into few
// packets: they share a fate, and come in order.
func TestWaitingDeliveriesShareAPacket(t *testing.T) {
	m := link.Model{Latency: 10 * ms, Loss: 300_000}
	d := link.NewDirection(m, 4, "a", "b")
	var flow link.Flow
	var last time.Duration
	together := 0
	for i := range 20_000 {
		arrive, broken := d.Send(&flow, time.Duration(i)*25*ms, 100)
		require.False(t, broken)
		require.Greater(t, arrive, last)
		if arrive-last == 1 {
			together++
		}
		last = arrive
	}
	require.Greater(t, together, 5000)
}

// This test checks that the RTO follows the round trip.
func TestRTOFollowsTheRoundTrip(t *testing.T) {
	require.Equal(t, link.MinRTO, link.Model{}.RTO())
	require.Equal(t, 810*ms, link.Model{Latency: 300 * ms, Jitter: 10 * ms}.RTO())
	require.Equal(t, link.MaxRTO, link.Model{Latency: 300 * ms, Jitter: 180 * ms}.RTO())
}

// This test checks that a connection breaks when a packet does not get through
// for too long, and how rarely that happens by chance.
func TestTooManyLossesBreakTheConnection(t *testing.T) {
	const count = 20_000
	d := link.NewDirection(link.Model{Loss: 900_000}, 5, "a", "b")
	breaks := 0
	for range count {
		var f link.Flow
		arrive, broken := d.Send(&f, time.Minute, 1)
		if broken {
			breaks++
			require.Equal(t, time.Minute+link.Patience, arrive)
		}
	}
	// Eight waits of 0.2 s, one of 0.4 s, of 0.8 s, and then 27 of a second: the
	// loss after that is one too many, which is the 38th.
	require.InDelta(t, 0.0182, float64(breaks)/count, 0.003)
}

// This test checks when a sender tries again after its link was dead.
func TestResumeKeepsTheBackOff(t *testing.T) {
	m := link.Model{Latency: 10 * ms}
	seldom, often := &link.Flow{}, &link.Flow{}
	d := link.NewDirection(m, 1, "a", "b")
	for i := range 100 {
		_, _ = d.Send(seldom, time.Duration(i)*100*ms, 100)
		_, _ = d.Send(often, time.Duration(i)*20*ms, 100)
	}
	for _, c := range []struct{ mended, seldom, often time.Duration }{
		{0, 0, 0}, // nothing was lost
		{ms, 220 * ms, 220 * ms},
		{220 * ms, 220 * ms, 220 * ms},
		{221 * ms, 440 * ms, 440 * ms},
		{441 * ms, 660 * ms, 880 * ms},
		{881 * ms, 1100 * ms, 1760 * ms},
		{1761 * ms, 2200 * ms, 2760 * ms},
		{3 * time.Second, 3080 * ms, 3760 * ms},
		{10 * time.Second, 10_080 * ms, 10_760 * ms},
	} {
		require.Equal(t, time.Second+c.seldom, seldom.Resume(m, time.Second, time.Second+c.mended), c.mended)
		require.Equal(t, time.Second+c.often, often.Resume(m, time.Second, time.Second+c.mended), c.mended)
	}
}
