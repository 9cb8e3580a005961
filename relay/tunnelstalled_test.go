// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

// stalledWindow is what the node of these tests holds for each tunnel.
const stalledWindow = 4 << 10

// openMany opens 10,000 tunnels with so much credit for the relay each.
func openMany(t *testing.T, n *fake.Node, b *binding, credit uint32) []patterns.TunnelSource {
	t.Helper()
	sides := serveTunnels(t, n, "many", patterns.Limits{})
	b.conn.SetDeadline(time.Now().Add(time.Minute))
	all := make([]patterns.TunnelSource, 0, manyTunnels)
	for id := range uint64(manyTunnels) {
		b.open(id+1, "many", credit)
		all = append(all, <-sides)
	}
	return all
}

// fillAll sends on each tunnel until none takes any more, and returns how many
// bytes they took.
func fillAll(t *testing.T, all []patterns.TunnelSource) (sent int) {
	t.Helper()
	body := make([]byte, 1<<10)
	for calm := 0; calm < 3; calm++ {
		for _, side := range all {
			for side.TrySend(body) == nil {
				sent, calm = sent+len(body), 0
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return sent
}

// works checks that a client has a reply, a publication and the echo of a tunnel.
func works(t *testing.T, n *fake.Node, b *binding, id uint64) {
	t.Helper()
	b.send(&session.Request{ID: id, Cluster: "geo", Body: []byte("hi")})
	require.Equal(t, "hi", string(past[*session.Reply](b).Body))
	b.subscribe(&session.Subscribe{ID: id, Pattern: "a"})
	require.NoError(t, n.Publish(t.Context(), "a", patterns.Message{}))
	past[*session.Publication](b)
	side := serveTunnels(t, n, "lively", patterns.Limits{})
	b.open(id+1, "lively", 64<<10)
	tunnel := <-side
	b.send(&session.TunnelData{ID: id + 1, Last: true, Chunk: []byte("ho")})
	body, err := tunnel.Receive(t.Context())
	require.NoError(t, err)
	require.NoError(t, tunnel.Send(t.Context(), body))
	require.Equal(t, "ho", string(past[*session.TunnelData](b).Chunk))
}

// This test has a client read none of 10,000 tunnels that members fill: without
// credit nothing of them waits in the relay but what the node counts. The
// client's other work goes on, and all comes when it reads.
func TestAClientThatReadsNoTunnelIsWithinTheLimits(t *testing.T) {
	_, n, cfg := start(t, nil)
	n.TunnelWindow = stalledWindow
	serveEcho(t, n, "geo")
	b := attach(t, cfg.Socket)
	all := openMany(t, n, b, 0)
	before, _ := used()
	sent := fillAll(t, all)
	after, _ := used()
	t.Logf("%d MiB sent, memory grew by %d MiB", sent>>20, (after-before)>>20)
	require.Equal(t, manyTunnels*stalledWindow, sent, "each window, and no more")
	require.Less(t, after-before, 2*manyTunnels*stalledWindow) // the node keeps copies, and headers of them
	works(t, n, b, 1<<20)

	for id := range uint64(manyTunnels) {
		b.send(&session.TunnelCredit{ID: id + 1, Credit: 2 * stalledWindow})
		for got := 0; got < stalledWindow; {
			got += len(past[*session.TunnelData](b).Chunk)
		}
	}
}

// This test has a client that reads nothing of its connection, with credit for
// far more than there is memory on each of 10,000 tunnels: the relay holds what
// the node counts and the little that is on its way to the client, and another
// client goes on. When the client has stalled for too long it is dropped: its
// tunnels end, and so does what they held.
func TestAClientThatReadsNothingIsWithinTheLimits(t *testing.T) {
	const queue = 1 << 20
	r, n, cfg := start(t, func(cfg *relay.Config) {
		cfg.Limits.Stall, cfg.Limits.QueueBytes = 3*time.Second, queue
	})
	n.TunnelWindow = stalledWindow
	serveEcho(t, n, "geo")
	stalled, lively := attach(t, cfg.Socket), attach(t, cfg.Socket)
	all := openMany(t, n, stalled, 1<<20)
	before, _ := used()
	sent := fillAll(t, all)
	after, _ := used()
	t.Logf("%d MiB sent, memory grew by %d MiB", sent>>20, (after-before)>>20)
	require.Less(t, sent, manyTunnels*stalledWindow+queue+2<<20) // and the socket's buffers
	require.Less(t, after-before, 2*manyTunnels*stalledWindow+2*queue)
	works(t, n, lively, 1<<20)

	for _, side := range all {
		select {
		case <-side.Done():
			require.ErrorIs(t, side.Err(), patterns.ErrInterrupted)
		case <-time.After(patience):
			require.Fail(t, "a tunnel outlives its client")
		}
	}
	eventually(t, func() bool { return len(r.Status().Clients) == 1 }, "the stalled client is gone")
	all = nil
	eventually(t, func() bool { now, _ := used(); return now-before < 16<<20 }, "its memory is free again")
}
