// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	inner "github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

// startRelay starts a relay on loopback TCP with a token.
func startRelay(t *testing.T, token string) *relay.Relay {
	t.Helper()
	text, err := node.NewNetwork("test")
	require.NoError(t, err)
	r, _ := relayOf(t, text, token)
	return r
}

// relayOf is startRelay in a network that there is, and returns the addresses of the
// relay's node.
func relayOf(t *testing.T, text []byte, token string, seeds ...string) (*relay.Relay, []string) {
	t.Helper()
	network, err := security.ParseNetworkFile(text)
	require.NoError(t, err)
	n, err := inner.New(inner.Config{Network: network, Listen: []string{"127.0.0.1:0"}, NoMDNS: true, Seeds: seeds})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Start(t.Context()))
	r, err := relay.New(relay.Config{Node: n, Listen: "127.0.0.1:0", Tokens: []relay.Token{{Name: "test", Secret: token}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	require.NoError(t, r.Start(t.Context()))
	var addrs []string
	for _, a := range n.Addrs() {
		addrs = append(addrs, a+"/p2p/"+n.Self().String())
	}
	return r, addrs
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestAttachThroughTCPNeedsTheToken(t *testing.T) {
	// This test attaches with a wrong token and with the right one, under a name
	// that the relay tells. Then the relay ends: a call waits for it as long as
	// RelayWait says, what was published and not taken is told, and there is a log.
	r := startRelay(t, "open sesame, please")
	_, err := arke.Attach(t.Context(), arke.Address(r.Addr(), "open sesame, now!!"))
	require.ErrorIs(t, err, arke.ErrUnauthorized)

	var log buffer
	lost := make(chan error, 10)
	c, err := arke.Attach(t.Context(), arke.Address(r.Addr(), "open sesame, please"), arke.Name("tester"), arke.RelayWait(50*time.Millisecond),
		arke.OnLost(func(err error) { lost <- err }), arke.LogTo(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	require.NoError(t, err)
	require.Empty(t, c.Addrs())
	require.Equal(t, "tester", r.Status().Clients[0].Name)
	_, err = c.Serve(t.Context(), "geo", arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
		return arke.Message{}, nil
	}))
	require.NoError(t, err)
	_, err = c.Request(t.Context(), "geo", arke.Message{})
	require.NoError(t, err)

	require.NoError(t, r.Close())
	require.Eventually(t, func() bool {
		begin := time.Now()
		_, err := c.Request(t.Context(), "geo", arke.Message{})
		return err != nil && time.Since(begin) < 2*time.Second
	}, 30*time.Second, 10*time.Millisecond)
	_, err = c.Request(t.Context(), "geo", arke.Message{})
	require.ErrorIs(t, err, arke.ErrUnreachable)
	require.ErrorIs(t, err, arke.ErrNoRelay)
	require.False(t, arke.MaybeRan(err))
	require.NoError(t, c.Close())
	require.NotEmpty(t, log.String())
	require.Empty(t, lost, "nothing was published")
}

func TestAttachSaysWhyTheRelayRefuses(t *testing.T) {
	// This test attaches to a relay that speaks other versions of the protocol, and
	// to one that refuses for a reason of its own. Neither is asked again, and the
	// error has the relay's words.
	for _, tt := range []struct {
		code wire.EndCode
		text string
		want error
	}{
		{wire.EndVersion, "this relay speaks versions 2 to 3", arke.ErrVersion},
		{wire.EndOther, "not on Mondays", arke.ErrRefused},
	} {
		socket := filepath.Join(t.TempDir(), "relay.sock")
		l, err := net.Listen("unix", socket)
		require.NoError(t, err)
		attempts := make(chan int, 1)
		go func() {
			refusal := wire.LeafGoodbye{Code: tt.code, Text: tt.text}
			count := 0
			for ; ; count++ {
				conn, err := l.Accept()
				if err != nil {
					break
				}
				_, _ = conn.Read(make([]byte, wire.MaxLeafHello))
				_, _ = conn.Write(wire.AppendFrame(nil, wire.LaneCtl, wire.KindGoodbye, refusal.AppendTo(nil)))
				_ = conn.Close()
			}
			attempts <- count
		}()
		_, err = arke.Attach(t.Context(), arke.Socket(socket))
		require.NoError(t, l.Close())
		require.Equal(t, 1, <-attempts)
		require.ErrorIs(t, err, tt.want)
		require.ErrorContains(t, err, tt.text)
	}
}
