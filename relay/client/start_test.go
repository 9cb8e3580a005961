// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that a client without a relay says so, where it looked, and
// what to do; and that it may try again.
func TestStartSaysThatThereIsNoRelay(t *testing.T) {
	d := newDesk(t)
	c := unstarted(t, d.socket)
	require.ErrorContains(t, ask(t, c), "not started")
	_, err := c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorContains(t, err, "not started")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = c.Start(ctx)
	require.ErrorIs(t, err, client.ErrNoRelay)
	require.ErrorContains(t, err, d.socket)
	require.ErrorContains(t, err, "start one with 'arke relay'")
	require.NotContains(t, err.Error(), "\n")

	d.open()
	require.NoError(t, c.Start(t.Context()))
	require.ErrorContains(t, c.Start(t.Context()), "started already")
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Start(t.Context()), patterns.ErrClosed)
}

// This test checks that Start waits for a relay that is being started, within its
// context.
func TestStartWaitsForARelayThatIsBeingStarted(t *testing.T) {
	d := newDesk(t)
	c := unstarted(t, d.socket)
	started := beside(func() error { return c.Start(t.Context()) })
	time.Sleep(50 * time.Millisecond) // most likely it has tried; both orders are right
	d.open()
	require.NoError(t, <-started)

	ctx, cancel := context.WithCancel(t.Context())
	other := unstarted(t, filepath.Join(t.TempDir(), "s"))
	started = beside(func() error { return other.Start(ctx) })
	cancel()
	require.Error(t, <-started)
}

// unstarted is a client of a relay that may not be there.
func unstarted(t *testing.T, socket string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Socket: socket})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// impostor answers every connection at the place with the bytes. It calls asked
// before, with how many there have been.
func impostor(t *testing.T, socket string, answer []byte, asked func(times int)) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for times := 1; ; times++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			asked(times)
			conn.Read(make([]byte, wire.MaxLeafHello))
			conn.Write(answer)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// This test checks that a relay that refuses, one of another release, and
// something that is no relay, are told apart in words, and that only what may
// change is tried again.
func TestStartSaysWhatAnswered(t *testing.T) {
	goodbye := func(code wire.EndCode, text string) []byte {
		return wire.AppendFrame(nil, wire.LaneCtl, wire.KindGoodbye, (&wire.LeafGoodbye{Code: code, Text: text}).AppendTo(nil))
	}
	for _, tt := range []struct {
		name   string
		answer []byte
		want   error
		text   string
		again  bool
	}{
		{"refuses our version", goodbye(wire.EndVersion, "this relay speaks versions 2 to 3"), client.ErrVersion, "speaks versions 2 to 3", false},
		{"a version we do not know", wire.AppendFrame(nil, wire.LaneCtl, wire.KindHello, (&wire.RelayHello{Version: 7}).AppendTo(nil)), client.ErrVersion, "version 7", false},
		{"draining", goodbye(wire.EndShutdown, "shutting down"), client.ErrNoRelay, "shutting down", true},
		{"another user", goodbye(wire.EndUser, "user 7"), client.ErrUser, "user 7", false},
		{"wrong token", goodbye(wire.EndToken, "wrong token"), client.ErrToken, "wrong token", false},
		{"too many", goodbye(wire.EndFull, "3 clients"), client.ErrTooManyClients, "3 clients", false},
		{"another reason", goodbye(wire.EndOther, "full moon"), client.ErrRefused, "full moon", false},
		{"another frame", wire.AppendFrame(nil, wire.LaneCtl, wire.KindBeat), client.ErrNoRelay, "answers with beat", true},
		{"another protocol", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), client.ErrNoRelay, "too large", true},
		{"nothing", nil, client.ErrNoRelay, "EOF", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked atomic.Int32
			impostor(t, socket, tt.answer, func(times int) {
				asked.Store(int32(times))
				if times == 3 {
					cancel()
				}
			})
			c := unstarted(t, socket)
			err := c.Start(ctx)
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
			require.NoError(t, c.Close())
			if !tt.again {
				require.EqualValues(t, 1, asked.Load())
			} else {
				require.GreaterOrEqual(t, asked.Load(), int32(3))
			}
		})
	}
	require.ErrorIs(t, client.ErrToken, patterns.ErrUnauthorized)
	require.ErrorIs(t, client.ErrUser, patterns.ErrUnauthorized)
	require.ErrorIs(t, client.ErrTooManyClients, patterns.ErrTooMany)
}

// This test checks what New refuses, and where a client looks by default.
func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]client.Config{
		"nowhere":       {},
		"two places":    {Socket: "s", Address: "127.0.0.1:1"},
		"no token":      {Address: "127.0.0.1:1"},
		"weak token":    {Address: "127.0.0.1:1", Token: strings.Repeat("x", 15)},
		"long token":    {Address: "127.0.0.1:1", Token: strings.Repeat("x", 1025)},
		"long name":     {Socket: "s", Name: strings.Repeat("x", 256)},
		"negative wait": {Socket: "s", RelayWait: -1},
	} {
		_, err := client.New(cfg)
		require.Error(t, err, name)
		if name == "no token" || name == "weak token" {
			require.ErrorIs(t, err, client.ErrToken, name)
		}
	}
	require.Equal(t, "/run/user/7/arke/relay.sock", client.DefaultSocket("/run/user/7"))
	require.Contains(t, client.DefaultSocket(""), "relay.sock")
}

// This test checks what Serve and Subscribe refuse before they ask the relay, and
// what they ask it for.
func TestWhatIsAskedForIsChecked(t *testing.T) {
	d, c := attached(t)
	_, err := c.Serve(t.Context(), "geo", nil, patterns.Limits{})
	require.Error(t, err)
	_, err = c.Serve(t.Context(), strings.Repeat("x", 256), patterns.HandlerFunc(echo), patterns.Limits{})
	require.Error(t, err)
	_, err = c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{Concurrency: -1})
	require.Error(t, err)
	_, err = c.Subscribe(t.Context(), "a.>.b", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrTopic)
	_, err = c.Subscribe(t.Context(), "a", nil, patterns.SubscribeOptions{})
	require.Error(t, err)
	require.Empty(t, d.all(wire.KindServe))
	require.Empty(t, d.all(wire.KindSubscribe))

	_, err = c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{Concurrency: 2, QueueLength: -7, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6})
	require.NoError(t, err)
	f := d.all(wire.KindServe)[0].(wire.Serve)
	require.Equal(t, wire.Serve{
		ID: f.ID, Concurrency: 2, QueueLength: -1, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6,
		Patterns: wire.ServesRequests, Cluster: "geo",
	}, f)
	_, err = c.Subscribe(t.Context(), "a.*", &listener{}, patterns.SubscribeOptions{NoEcho: true, Signed: true, Queue: "q", QueueLength: 7})
	require.NoError(t, err)
	s := d.all(wire.KindSubscribe)[0].(wire.Subscribe)
	require.Equal(t, wire.Subscribe{ID: s.ID, Options: wire.SubscribeNoEcho | wire.SubscribeSigned, Length: 7, Queue: "q", Pattern: "a.*"}, s)
}
