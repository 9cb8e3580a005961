// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

// site is a node with its relay and a client.
type site struct {
	node   *node.Node
	relay  *relay.Relay
	client *client.Client
}

// sites starts so many on loopback; all but the first seed from it.
func sites(t testing.TB, count int, change func(*node.Config)) []site {
	t.Helper()
	network, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []site
	for i := range count {
		cfg := node.Config{Network: network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true}
		if i > 0 {
			first := all[0].node
			cfg.Seeds = []string{first.Addrs()[0] + "/p2p/" + first.Self().String()}
		}
		if change != nil {
			change(&cfg)
		}
		n, err := node.New(cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		require.NoError(t, n.Start(ctx))
		socket := filepath.Join(t.TempDir(), "s")
		r, err := relay.New(relay.Config{Node: n, Socket: socket, Peer: n.Self().String()})
		require.NoError(t, err)
		require.NoError(t, r.Start(ctx))
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		c, err := client.New(client.Config{Socket: socket})
		require.NoError(t, err)
		require.NoError(t, c.Start(ctx))
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		all = append(all, site{n, r, c})
	}
	return all
}

// This test has tunnels between the clients of two relays, over real nodes:
// messages of any size, a stream larger than any window, a stop of the reader,
// and each of the ends.
func TestTunnelsBetweenTheClientsOfTwoRelays(t *testing.T) {
	s := sites(t, 2, nil)
	server, caller := s[1].client, s[0].client
	const size = 24 << 20
	stream := make([]byte, size)
	rand.Read(stream)
	ends := make(chan error, 10)
	handler := func(ctx context.Context, tn patterns.Tunnel) error {
		switch what := string(tn.Info().Open.Body); what {
		case "echo":
			for {
				m, err := tn.Receive(ctx)
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = tn.Send(ctx, m)
				}
				if err != nil {
					return err
				}
			}
		case "stream":
			h := sha256.New()
			if _, err := tn.ReceiveTo(ctx, h); err != nil {
				return err
			}
			return tn.Send(ctx, h.Sum(nil))
		case "refuse":
			return &patterns.RemoteError{Code: 404, Message: "no room"}
		case "wait":
			<-ctx.Done()
			ends <- tn.Err()
			return nil
		default:
			return errors.New(what)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	_, err := server.Serve(ctx, "chat", patterns.Service{Tunnel: handler}, patterns.Limits{})
	require.NoError(t, err)
	open := func(what string) patterns.Tunnel {
		t.Helper()
		tn, err := caller.OpenTunnel(ctx, "chat", patterns.Message{Body: []byte(what)}, patterns.WaitForMember())
		require.NoError(t, err)
		return tn
	}

	tn := open("echo")
	require.Equal(t, s[1].node.Self().String(), tn.Info().Peer)
	for i, size := range []int{0, 1, 1000, 64 << 10, 65<<10 + 1, 1 << 20, 0, 10} {
		body := bytes.Repeat([]byte{byte(i)}, size)
		require.NoError(t, tn.Send(ctx, body))
		got, err := tn.Receive(ctx)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, got), "size %d", size)
	}
	require.NoError(t, tn.CloseSend())
	_, err = tn.Receive(ctx)
	require.Equal(t, io.EOF, err)
	<-tn.Done()
	require.NoError(t, tn.Err())

	tn = open("stream")
	n, err := tn.SendFrom(ctx, bytes.NewReader(stream))
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	sum, err := tn.Receive(ctx)
	require.NoError(t, err)
	want := sha256.Sum256(stream)
	require.Equal(t, want[:], sum)
	require.NoError(t, tn.Close())
	<-tn.Done()

	_, err = open("refuse").Receive(ctx)
	require.Equal(t, &patterns.TunnelError{Code: 404, Message: "no room"}, err)

	tn = open("wait")
	sent := 0
	for calm := 0; calm < 100; {
		if err := tn.TrySend(make([]byte, 8<<10)); err == nil {
			sent, calm = sent+8<<10, 0
			continue
		}
		calm++
		time.Sleep(time.Millisecond)
	}
	require.Less(t, sent, 1<<20, "a reader that stopped stops the writer")
	require.NoError(t, tn.Reset(7, "enough"))
	require.Equal(t, &patterns.TunnelError{Code: 7, Message: "enough"}, <-ends)

	tn = open("wait")
	require.NoError(t, caller.Close())
	require.ErrorIs(t, tn.Err(), patterns.ErrClosed)
	require.ErrorIs(t, <-ends, patterns.ErrInterrupted, "its opener's program is lost")
}

// This test checks that a registration which closes lets its tunnels finish,
// over a real node, and so does a relay that shuts down.
func TestADrainOverARealNodeLetsTunnelsFinish(t *testing.T) {
	s := sites(t, 2, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	serve := func() patterns.Registration {
		r, err := s[1].client.Serve(ctx, "chat", patterns.Service{Tunnel: echoTunnel}, patterns.Limits{})
		require.NoError(t, err)
		return r
	}
	finish := func(what func() error) {
		t.Helper()
		tn, err := s[0].client.OpenTunnel(ctx, "chat", patterns.Message{}, patterns.WaitForMember())
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- what() }()
		for i := range 10 {
			body := fmt.Appendf(nil, "still here %d", i)
			require.NoError(t, tn.Send(ctx, body))
			m, err := tn.Receive(ctx)
			require.NoError(t, err)
			require.Equal(t, body, m)
			time.Sleep(10 * time.Millisecond)
		}
		require.Empty(t, ended, "it waits for the tunnel")
		require.NoError(t, tn.Close())
		require.NoError(t, <-ended)
	}
	r := serve()
	finish(func() error { return r.Close(ctx) })

	r = serve()
	tn, err := s[0].client.OpenTunnel(ctx, "chat", patterns.Message{}, patterns.WaitForMember())
	require.NoError(t, err)
	moment, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Close(moment), context.DeadlineExceeded)
	_, err = tn.Receive(ctx)
	require.Error(t, err, "it ends with its registration")
	<-tn.Done()
	serve()
	finish(func() error { return s[1].relay.Shutdown(ctx) })
}

// BenchmarkTunnelBetweenRelays measures messages from the client of one relay to
// that of another, over real nodes in one process.
func BenchmarkTunnelBetweenRelays(b *testing.B) {
	s := sites(b, 2, nil)
	benchmarkTunnel(b, s[0].client, s[1].client)
}

// BenchmarkTunnelBetweenNodes is the same without relays: what attaching costs.
func BenchmarkTunnelBetweenNodes(b *testing.B) {
	s := sites(b, 2, nil)
	benchmarkTunnel(b, s[0].node, s[1].node)
}

func benchmarkTunnel(b *testing.B, caller, server patterns.Messenger) {
	done := make(chan struct{}, 1)
	_, err := server.Serve(b.Context(), "bulk", patterns.Service{Tunnel: func(ctx context.Context, tn patterns.Tunnel) error {
		for {
			if _, err := tn.Receive(ctx); err != nil {
				done <- struct{}{}
				return nil
			}
		}
	}}, patterns.Limits{})
	require.NoError(b, err)
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			tn, err := caller.OpenTunnel(b.Context(), "bulk", patterns.Message{}, patterns.WaitForMember())
			require.NoError(b, err)
			body := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, tn.Send(b.Context(), body))
			}
			require.NoError(b, tn.CloseSend())
			<-done
		})
	}
}
