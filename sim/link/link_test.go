// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/link"
)

const ms = time.Millisecond

// shot is one call, and what it must return.
type shot struct {
	now    time.Duration
	size   int
	arrive time.Duration
	lost   bool // or broken
}

// This test checks what packets meet on a link: latency, the bottleneck, and a
// bounded queue that drops what does not fit.
func TestPacketsPassTheBottleneck(t *testing.T) {
	// 8 Mbps are 1,000 bytes a millisecond.
	for name, c := range map[string]struct {
		model link.Model
		shots []shot
	}{
		"nothing": {link.Model{}, []shot{{0, 1400, 0, false}, {5 * ms, 1, 5 * ms, false}}},
		"latency": {link.Model{Latency: 10 * ms}, []shot{{0, 1400, 10 * ms, false}, {ms, 1, 11 * ms, false}}},
		"bandwidth": {link.Model{Latency: 10 * ms, Mbps: 8}, []shot{
			{0, 1000, 11 * ms, false},
			{0, 500, 11*ms + ms/2, false},
			{ms, 1000, 12*ms + ms/2, false},
			{10 * ms, 1000, 21 * ms, false}, // idle again
		}},
		"queue": {link.Model{Mbps: 8, Queue: 2000}, []shot{
			{0, 1000, ms, false},
			{0, 1000, 2 * ms, false},
			{0, 1, 0, true},
			{ms, 1000, 3 * ms, false}, // room again
			{ms, 1000, 0, true},
		}},
		"idle queue takes anything": {link.Model{Mbps: 8, Queue: 10}, []shot{{0, 1000, ms, false}, {0, 1, 0, true}}},
		"all lost":                  {link.Model{Loss: link.AllLost}, []shot{{0, 1, 0, true}, {ms, 1, 0, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := link.NewDirection(c.model, 1, "a", "b")
			for i, s := range c.shots {
				arrive, ok := d.Packet(s.now, s.size)
				require.Equal(t, s.lost, !ok, i)
				if ok {
					require.Equal(t, s.arrive, arrive, i)
				}
			}
		})
	}
}

// This test checks what a reliable stream meets: a whole delivery takes the
// time of its bytes, later ones wait behind it, and what is too much for the
// queue costs one round trip more but no byte.
func TestStreamsPassTheBottleneck(t *testing.T) {
	for name, c := range map[string]struct {
		model link.Model
		shots []shot
	}{
		"nothing": {link.Model{}, []shot{{ms, 100, ms, false}, {ms, 100, ms + 1, false}}},
		"bandwidth": {link.Model{Latency: 10 * ms, Mbps: 8, Queue: 2 << 20}, []shot{
			{0, 1_000_000, 1010 * ms, false},
			{0, 1000, 1011 * ms, false},
		}},
		"queue": {link.Model{Latency: 10 * ms, Mbps: 8, Queue: 10_000}, []shot{
			{0, 10_000, 20 * ms, false},
			{0, 5_000, 25*ms + 20*ms, false},    // lost and sent again
			{0, 1, 25*ms + 20*ms + 1000, false}, // too
			{100 * ms, 1000, 111 * ms, false},
		}},
		"all lost": {link.Model{Loss: link.AllLost}, []shot{{ms, 100, ms + link.Patience, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := link.NewDirection(c.model, 1, "a", "b")
			var flow link.Flow
			for i, s := range c.shots {
				arrive, broken := d.Send(&flow, s.now, s.size)
				require.Equal(t, s.lost, broken, i)
				require.InDelta(t, float64(s.arrive), float64(arrive), 1, i)
			}
		})
	}
}

// This test checks that neither packets nor deliveries of one flow overtake
// each other, whatever jitter and loss do, and that flows do not wait for each
// other's losses.
func TestOrderIsKept(t *testing.T) {
	m := link.Model{Latency: ms, Jitter: 20 * ms, Loss: 100_000, Mbps: 100}
	d := link.NewDirection(m, 7, "a", "b")
	var last time.Duration
	for i := range 10_000 {
		if arrive, ok := d.Packet(time.Duration(i)*100_000, 200); ok {
			require.GreaterOrEqual(t, arrive, last)
			last = arrive
		}
	}
	d = link.NewDirection(m, 7, "a", "b")
	var flows [2]link.Flow
	var lasts [2]time.Duration
	overtaken := 0
	for i := range 10_000 {
		now := time.Duration(i) * 100_000
		arrive, broken := d.Send(&flows[i%2], now, 200)
		require.False(t, broken)
		require.GreaterOrEqual(t, arrive, now+m.Latency)
		require.Greater(t, arrive, lasts[i%2])
		lasts[i%2] = arrive
		if arrive < lasts[1-i%2] {
			overtaken++
		}
	}
	require.Greater(t, overtaken, 1000)
}

// This test checks the share of packets that is lost, and that it depends on
// the seed and the names which ones are.
func TestLossIsAsAsked(t *testing.T) {
	const count = 200_000
	for _, loss := range []uint32{0, 1000, 50_000, 300_000, link.AllLost} {
		d := link.NewDirection(link.Model{Loss: loss}, 3, "a", "b")
		lost := 0
		for i := range count {
			if _, ok := d.Packet(time.Duration(i), 100); !ok {
				lost++
			}
		}
		require.InDelta(t, float64(loss)/link.AllLost, float64(lost)/count, 0.004)
	}
}

// This test checks that a sender that waits for room loses nothing to the
// queue, and keeps the bottleneck busy.
func TestRoom(t *testing.T) {
	m := link.Model{Mbps: 8, Queue: 10_000}
	d := link.NewDirection(m, 1, "a", "b")
	now := time.Duration(0)
	for range 100 {
		at := d.RoomAt(now, 5000)
		require.GreaterOrEqual(t, at, now)
		if at > now {
			require.False(t, d.Room(now, 5000))
		}
		now = at
		require.True(t, d.Room(now, 5000))
		_, ok := d.Packet(now, 5000)
		require.True(t, ok)
	}
	require.Equal(t, 500*ms, now+d.Backlog(now))
	require.True(t, link.NewDirection(m, 1, "a", "b").Room(0, 50_000), "an idle link takes anything")
}

// This test checks that the message of a handshake meets latency and loss, and
// neither waits nor makes others wait.
func TestFlight(t *testing.T) {
	d := link.NewDirection(link.Model{Latency: 10 * ms, Mbps: 1, Loss: 200_000}, 1, "a", "b")
	late := 0
	for range 1000 {
		takes, broken := d.Flight()
		require.False(t, broken)
		if takes > 10*ms {
			late++
			require.GreaterOrEqual(t, takes, 210*ms)
		}
	}
	require.InDelta(t, 200, late, 60)
	require.Zero(t, d.Backlog(0))
}

// This test checks that a change of the model holds from then on.
func TestModelCanChange(t *testing.T) {
	d := link.NewDirection(link.Model{Latency: 10 * ms}, 1, "a", "b")
	var flow link.Flow
	d.SetModel(link.Model{Latency: 50 * ms, Mbps: 8})
	arrive, broken := d.Send(&flow, 0, 1000)
	require.False(t, broken)
	require.Equal(t, 51*ms, arrive)
	require.Equal(t, link.DefaultQueue, d.Model().Queue)
	d.SetModel(link.Model{Latency: -1, Jitter: -1, Mbps: -1, Queue: -1, Loss: 2 * link.AllLost})
	require.Equal(t, link.Model{Loss: link.AllLost, Queue: link.DefaultQueue}, d.Model())
}

// This test checks what people read.
func TestModelsHaveWords(t *testing.T) {
	require.Equal(t, "0s", link.Model{}.String())
	m := link.Model{Latency: 10 * ms, Jitter: ms, Mbps: 8, Queue: 65536, Loss: 500}
	require.Equal(t, "10ms+1ms, 8 Mbps, queue 65536 B, loss 500 ppm", m.String())
	require.Equal(t, "0s, 8 Mbps, queue 262144 B", link.Model{Mbps: 8}.String())
}

// This test checks the determinism: the same seed and names give the same
// answers, others give others, and the exact answers never change unnoticed.
func TestRunsAreEqual(t *testing.T) {
	run := func(seed uint64, from, to string) (hash uint64) {
		d := link.NewDirection(link.Model{Latency: 5 * ms, Jitter: 3 * ms, Loss: 50_000, Mbps: 20, Queue: 30_000}, seed, from, to)
		var flow link.Flow
		fold := func(v time.Duration, flag bool) {
			hash = (hash ^ uint64(v)) * 0x100000001b3
			if flag {
				hash++
			}
		}
		for i := range 5000 {
			now := time.Duration(i) * ms
			switch i % 3 {
			case 0:
				fold(d.Packet(now, 100+i))
			case 1:
				fold(d.Send(&flow, now, 10*i))
			case 2:
				fold(d.Flight())
			}
		}
		return hash
	}
	first := run(1, "a", "b")
	require.Equal(t, first, run(1, "a", "b"))
	for _, other := range []uint64{run(2, "a", "b"), run(1, "b", "a"), run(1, "ab", ""), run(1, "", "ab")} {
		require.NotEqual(t, first, other)
	}
	require.Equal(t, uint64(0x463e56068b8210c4), first)
}

// BenchmarkStream measures a small delivery on a lossy link.
func BenchmarkStream(b *testing.B) {
	d := link.NewDirection(link.Model{Latency: 5 * ms, Jitter: ms, Loss: 10_000}, 1, "a", "b")
	var flow link.Flow
	for i := range b.N {
		d.Send(&flow, time.Duration(i)*ms, 200)
	}
}
