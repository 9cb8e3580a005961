// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that an open tunnel has no goroutine where it was opened, at
// the relay, and at the node.
func TestAnOpenTunnelHasNoGoroutine(t *testing.T) {
	p := newPlace(t)
	p.relay()
	_, err := p.node.Serve(t.Context(), "chat", patterns.Service{Tunnel: func(_ context.Context, tn patterns.Tunnel) error {
		tn.(patterns.TunnelSource).Detach()
		return nil
	}}, patterns.Limits{})
	require.NoError(t, err)
	caller := p.client()
	open(t, caller, "chat")
	before := runtime.NumGoroutine()
	for range 500 {
		open(t, caller, "chat")
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 }, "goroutines stay")
}

// This test checks that an opening which is given up at any moment leaves no
// tunnel behind, neither here nor at the relay nor at the member.
func TestAnOpeningThatIsGivenUpLeavesNothing(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	server, caller := p.client(), p.client()
	var mu sync.Mutex
	running := 0
	serveTunnels(t, server, "chat", func(ctx context.Context, _ patterns.Tunnel) error {
		mu.Lock()
		running++
		mu.Unlock()
		<-ctx.Done()
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}, patterns.Limits{})
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
			defer cancel()
			if tn, err := caller.OpenTunnel(ctx, "chat", patterns.Message{}); err == nil {
				tn.Reset(0, "")
			}
		})
	}
	wg.Wait()
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range r.Status().Clients {
			if c.Tunnels > 0 {
				return false
			}
		}
		return running == 0
	}, "tunnels stay")
}

// This test goes one beyond the relay's limit of tunnels, and sees the error
// that an embedded node would give.
func TestOneTunnelTooMany(t *testing.T) {
	_, server, caller := twoClients(t, func(cfg *relay.Config) { cfg.Limits.Tunnels = 3 })
	serveTunnels(t, server, "chat", echoes, patterns.Limits{})
	for range 3 {
		open(t, caller, "chat")
	}
	_, err := caller.OpenTunnel(t.Context(), "chat", patterns.Message{})
	require.ErrorIs(t, err, client.ErrTooManyTunnels)
	require.ErrorIs(t, err, patterns.ErrTooMany)
}
