// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// TestAFloodOfNonsenseHurtsNobody throws 10,000 random and mutated frames at the
// socket, before and after a handshake, while an honest client works: nothing
// crashes, memory stays bounded, and the honest client is answered.
func TestAFloodOfNonsenseHurtsNobody(t *testing.T) {
	n := lone(t)
	require.NoError(t, n.Start(t.Context()))
	r, cfg := startOn(t, n, nil)
	_, err := n.Serve(t.Context(), "geo", patterns.Service{Request: echo, Tunnel: echoTunnel}, patterns.Limits{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	honest := attach(t, cfg.Socket)
	answered := 0
	wg.Go(func() {
		for id := uint64(0); ; id++ {
			select {
			case <-stop:
				return
			default:
			}
			if bodyOf(t, honest.call(id, "geo", "hi").Tail) != "hi" {
				panic("wrong reply")
			}
			answered++
			if id%100 == 0 {
				honest.ack()
			}
		}
	})

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const frames = 10_000
	for sent := 0; sent < frames; {
		sent += nonsense(t, cfg.Socket, rng, frames-sent)
	}
	close(stop)
	wg.Wait()
	require.Positive(t, answered)
	honest.conn.Close()
	here := func(c relay.ClientStatus) bool { return !c.Away }
	eventually(t, func() bool { return !slices.ContainsFunc(r.Status().Clients, here) }, "sessions stay")

	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(64<<20))
}

// valid are head and body of honest frames.
func valid() (frames [][]byte) {
	opening := wire.TunnelOpen{ID: 2, Credit: 1000}
	published := wire.LeafPublish{ID: 1, Topic: "a.b"}
	h := hello()
	for _, f := range []struct {
		lane wire.Lane
		kind wire.Kind
		m    message
	}{
		{wire.LaneCtl, wire.KindHello, &h},
		{wire.LaneCtl, wire.KindBeat, &wire.LeafBeat{WantReply: true, Clock: 1}},
		{wire.LaneCtl, wire.KindAck, counted{}},
		{wire.LaneCtl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndShutdown}},
		{wire.LaneBulk, wire.KindFragment, wire.Fragment{First: true, Kind: wire.KindRequest, Total: 1000, Payload: make([]byte, 500)}},
		{wire.LaneRPC, wire.KindVoid, counted{}},
		{wire.LaneCtl, wire.KindServe, &wire.Serve{ID: 1, Cluster: "geo", Patterns: 15}},
		{wire.LaneCtl, wire.KindLeave, wire.Leave{ID: 1}},
		{wire.LaneCtl, wire.KindSubscribe, &wire.Subscribe{ID: 2, Pattern: "a.*"}},
		{wire.LaneCtl, wire.KindTunnelCredit, wire.Taken{ID: 2}},
		{wire.LanePub, wire.KindPublish, &raw{append(published.AppendHead(nil), tail("hi")...)}},
		{wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 1, Route: &wire.Route{Cluster: "geo"}, Tail: tail("hi", wire.Header{Key: "k", Value: "v"})}},
		{wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 2, Pattern: 1, Route: &wire.Route{Cluster: "geo"}, Tail: tail("hi")}},
		{wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 3, Pattern: 3, Route: &wire.Route{Cluster: "geo"}, Tail: tail("hi")}},
		{wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 4, Pattern: 4, Route: &wire.Route{Cluster: "geo"}, Tail: tail(string(opening.AppendTo(nil)))}},
		{wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 5, Route: &wire.Route{Cluster: "$members"}, Tail: tail("geo")}},
		{wire.LaneRPC, wire.KindReply, &wire.Reply{ID: 1, Tail: tail("")}},
		{wire.LaneRPC, wire.KindCancel, wire.Cancel{ID: 1}},
		{wire.LaneBulk, wire.KindTunnelData, wire.TunnelData{ID: 2, Flags: 3, Payload: []byte("hi")}},
		{wire.LaneBulk, wire.KindTunnelEnd, wire.TunnelEnd{ID: 2, Flags: 1}},
		{wire.LaneCtl, wire.KindTunnelReset, &wire.TunnelReset{ID: 2, Flags: 1}},
	} {
		frames = append(frames, frame(f.lane, f.kind, f.m)[4:])
	}
	return frames
}

// raw is what is encoded already.
type raw struct{ b []byte }

func (r *raw) AppendTo(dst []byte) []byte { return append(dst, r.b...) }

// nonsense opens a connection and sends up to n frames, until the relay has had
// enough. It returns how many it sent.
func nonsense(t *testing.T, socket string, rng *rand.Rand, n int) int {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	defer conn.Close()
	if rng.IntN(10) > 0 {
		h := hello()
		h.Features = wire.Features(rng.IntN(16))
		_, err = conn.Write(frame(wire.LaneCtl, wire.KindHello, &h))
		require.NoError(t, err)
	}
	honest := valid()
	for i := range n {
		b := slices.Clone(honest[rng.IntN(len(honest))])
		switch rng.IntN(3) {
		case 0: // mutated
			for range 1 + rng.IntN(4) {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
		case 1: // random
			b = make([]byte, rng.IntN(200))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
		}
		length := uint32(len(b))
		if rng.IntN(20) == 0 {
			length = rng.Uint32() >> rng.IntN(32)
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, length), b...)); err != nil {
			return i + 1
		}
	}
	return n
}
