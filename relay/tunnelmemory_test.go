// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

const manyTunnels = 10_000

// used is the memory of heap and stacks, bytes, and the goroutines.
func used() (int, int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}

// This test checks that an idle tunnel costs a relay little, whoever opened it:
// no goroutine, and less than a quarter of what a node and its relay may use
// together, since the node of this test holds both ends of each as well.
func TestAnIdleTunnelCostsLittle(t *testing.T) {
	_, n, cfg := start(t, nil)
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	b.conn.SetDeadline(time.Now().Add(time.Minute))
	b.send(&session.Register{ID: 1, Cluster: "mine", Patterns: session.ServesTunnels})
	expect[*session.Registered](b)
	talk := func(id uint64, side patterns.Tunnel) {
		require.NoError(t, side.Send(t.Context(), make([]byte, 1000)))
		d := past[*session.TunnelData](b)
		b.send(&session.TunnelCredit{ID: d.ID, Credit: 1000, Read: 1000}, &session.TunnelData{ID: d.ID, Last: true, Chunk: d.Chunk})
		_, err := side.Receive(t.Context())
		require.NoError(t, err)
	}
	kept := make([]patterns.Tunnel, 0, 2*manyTunnels)
	use := func(id uint64) { // each was used before it is idle
		b.send(&session.OpenTunnel{Request: session.Request{ID: id, Cluster: "chat"}, Credit: 80 << 10})
		require.Zero(t, past[*session.TunnelReply](b).Failure)
		kept = append(kept, <-sides)
		talk(id, kept[len(kept)-1])
	}
	use(1)
	before, goroutines := used()
	for id := range uint64(manyTunnels / 2) {
		use(id + 2)
	}
	for range manyTunnels / 2 {
		tn, err := n.OpenTunnel(t.Context(), "mine", patterns.Message{})
		require.NoError(t, err)
		kept = append(kept, tn)
		d := past[*session.DeliverTunnel](b)
		b.send(&session.TunnelCredit{ID: d.ID, Credit: 80 << 10})
		talk(d.ID, tn)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+5 }, "goroutines stay")
	after, _ := used()
	each := (after - before) / manyTunnels
	t.Logf("%d bytes for each idle tunnel, with both ends at the node", each)
	require.Less(t, each, 4<<10)
	runtime.KeepAlive(kept)
}

// This test has a client fill 10,000 tunnels whose readers have stopped, as far
// as its credit goes: the relay holds no more than its limit, the client's
// other work goes on, and so does each tunnel whose reader wakes up.
func TestStalledReadersStayWithinTheLimits(t *testing.T) {
	const (
		limit  = 32 << 20
		window = 4 << 10
	)
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.TunnelBytes = limit })
	n.TunnelWindow = window
	serveEcho(t, n, "geo")
	sides := serveTunnels(t, n, "stalled", patterns.Limits{})
	b := attach(t, cfg.Socket)
	b.conn.SetDeadline(time.Now().Add(time.Minute))
	var kept []patterns.TunnelSource
	credit := map[uint64]int{}
	for id := range uint64(manyTunnels) {
		credit[id+1] = int(b.open(id+1, "stalled", 0).Credit)
		kept = append(kept, <-sides)
	}
	before, _ := used()
	// Everything that there is credit for, until no more comes.
	chunk := make([]byte, 16<<10)
	sent := 0
	for busy := true; busy; {
		busy = false
		for id, c := range credit {
			for c >= 64 {
				k := min(c, len(chunk))
				b.send(&session.TunnelData{ID: id, Chunk: chunk[:k]})
				c, sent, busy = c-k, sent+k, true
			}
			credit[id] = c
		}
		b.send(&session.Ping{Token: 1})
		for {
			f := b.next()
			if _, ok := f.(*session.Pong); ok {
				break
			}
			more := f.(*session.TunnelCredit)
			credit[more.ID] += int(more.Credit)
			busy = true
		}
	}
	held := 0
	for _, c := range r.Status().Clients {
		require.LessOrEqual(t, c.TunnelBytes, limit)
		held += c.TunnelBytes
	}
	after, _ := used()
	t.Logf("%d MiB sent, the relay counts %d MiB, memory grew by %d MiB", sent>>20, held>>20, (after-before)>>20)
	// The node of this test holds a window for each.
	require.Less(t, after-before, manyTunnels*window+2*limit)

	b.send(&session.Request{ID: 1 << 20, Cluster: "geo", Body: []byte("hi")})
	require.Equal(t, "hi", string(expect[*session.Reply](b).Body))
	go func() { // a client reads all the time
		for {
			if _, _, err := b.reader.Next(); err != nil {
				return
			}
		}
	}()
	received := 0
	eventually(t, func() bool {
		for _, side := range kept {
			received += drained(t, side)
		}
		return received == sent
	}, "all comes when it is read")
}

// past is expect, but skips credit.
func past[F session.Frame](b *binding) F {
	b.t.Helper()
	for {
		f := b.next()
		if want, ok := f.(F); ok {
			return want
		}
		require.IsType(b.t, &session.TunnelCredit{}, f)
	}
}

// drained reads what there is at once and after it.
func drained(t *testing.T, side patterns.TunnelSource) (n int) {
	t.Helper()
	for {
		data, _, more, err := side.Take()
		require.NoError(t, err)
		if !more {
			return n
		}
		n += len(data)
		side.Return(len(data))
	}
}
