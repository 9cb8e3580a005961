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

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// This test throws 10,000 random and mutated frames at the socket, before and
// after a handshake, while an honest client works: nothing crashes, memory
// stays bounded, and the honest client never waits for long.
func TestAFloodOfNonsenseHurtsNobody(t *testing.T) {
	r, n, cfg := start(t, nil)
	_, err := n.Serve(t.Context(), "geo", patterns.Service{Request: echo, Tunnel: echoTunnel}, patterns.Limits{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	honest := attach(t, cfg.Socket)
	honest.conn.SetDeadline(time.Now().Add(time.Minute))
	answered := 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			honest.send(&session.Request{ID: 1, Cluster: "geo", Body: []byte("hi")})
			if string(expect[*session.Reply](honest).Body) != "hi" {
				panic("wrong reply")
			}
			answered++
		}
	})

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	honestFrames := valid(t)
	const frames = 10_000
	for sent := 0; sent < frames; {
		sent += nonsense(t, cfg.Socket, rng, honestFrames, frames-sent)
	}
	close(stop)
	wg.Wait()
	require.Positive(t, answered)
	eventually(t, func() bool { return len(r.Status().Clients) == 1 }, "sessions stay")

	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(64<<20))
}

// valid returns the body with its kind of honest frames.
func valid(t *testing.T) [][]byte {
	t.Helper()
	var bodies [][]byte
	for _, f := range []session.Frame{
		&session.Survey{ID: 1, Timeout: 1000, Cluster: "geo", Body: []byte("hi")},
		&session.Push{Request: session.Request{ID: 1, Cluster: "geo"}}, &session.Broadcast{ID: 1, Cluster: "geo"},
		&session.Publish{ID: 1, Topic: "a.b", Body: []byte("hi")}, &session.Unsubscribe{ID: 1},
		&session.Subscribe{ID: 1, Pattern: "a.*"}, &session.Taken{Subscription: 1, Number: 1},
		hello(), &session.Ping{}, &session.Register{ID: 1, Cluster: "geo", Patterns: 15}, &session.Unregister{ID: 1},
		&session.Request{ID: 1, Cluster: "geo", Headers: []session.Header{{Key: "k", Value: "v"}}, Body: []byte("hi")},
		&session.Cancel{ID: 1}, &session.Answer{ID: 1, Body: []byte("ho")}, &session.Members{ID: 1, Cluster: "geo"},
		&session.Status{ID: 1}, &session.Error{Text: "x"},
		&session.OpenTunnel{Request: session.Request{ID: 2, Cluster: "geo"}, Credit: 1000}, &session.TunnelData{ID: 2, Last: true, Chunk: []byte("hi")},
		&session.TunnelCredit{ID: 2, Credit: 1}, &session.TunnelEnd{ID: 2}, &session.TunnelReset{ID: 2},
	} {
		bodies = append(bodies, frame(t, f)[4:])
	}
	return bodies
}

// nonsense opens a connection and sends up to n frames, until the relay has
// had enough. It returns how many it sent.
func nonsense(t *testing.T, socket string, rng *rand.Rand, honest [][]byte, n int) int {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	defer conn.Close()
	if rng.IntN(10) > 0 {
		_, err = conn.Write(frame(t, hello()))
		require.NoError(t, err)
	}
	for i := range n {
		body := slices.Clone(honest[rng.IntN(len(honest))])
		switch rng.IntN(3) {
		case 0: // mutated
			for range 1 + rng.IntN(4) {
				body[rng.IntN(len(body))] = byte(rng.Uint32())
			}
		case 1: // random
			body = make([]byte, rng.IntN(200))
			for i := range body {
				body[i] = byte(rng.Uint32())
			}
		}
		length := uint32(len(body))
		if rng.IntN(20) == 0 {
			length = rng.Uint32() >> rng.IntN(32)
		}
		b := append(binary.BigEndian.AppendUint32(nil, length), body...)
		if _, err := conn.Write(b); err != nil {
			return i + 1
		}
	}
	return n
}
