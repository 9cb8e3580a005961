// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// join starts a node on loopback.
func join(t *testing.T, opts ...node.JoinOption) *arke.Conn {
	t.Helper()
	c, err := node.Join(t.Context(), append([]node.JoinOption{node.Listen("127.0.0.1:0"), node.NoMDNS()}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func newNetwork(t *testing.T) node.JoinOption {
	t.Helper()
	text, err := node.NewNetwork("test")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "net.arke")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return node.NetworkFile(file)
}

func TestJoinNeedsANetwork(t *testing.T) {
	// This test joins without a network, with a file that is not there, and with
	// one that is none.
	for _, opts := range [][]node.JoinOption{
		nil, {node.NetworkFile("/nowhere")}, {node.NetworkText([]byte("hello"))},
	} {
		_, err := node.Join(t.Context(), opts...)
		require.Error(t, err)
	}
}

func TestANodeWithADirectoryIsTheSameAfterARestart(t *testing.T) {
	// This test starts a node twice with a directory and once without: its address
	// has the same peer id, and then another one.
	network, dir := newNetwork(t), t.TempDir()
	peer := func(opts ...node.JoinOption) string {
		c := join(t, append(opts, network)...)
		require.NoError(t, c.Close())
		_, id, found := strings.Cut(c.Addrs()[0], "/p2p/")
		require.True(t, found)
		return id
	}
	first := peer(node.DataDir(dir))
	require.Equal(t, first, peer(node.DataDir(dir)))
	require.NotEqual(t, first, peer())
}

// log is a bytes.Buffer for several goroutines.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Len()
}

func TestAdvertisedAddressesAreTold(t *testing.T) {
	// This test has a node advertise another address than it listens on, and one
	// that can't reach its seed log that.
	network := newNetwork(t)
	c := join(t, network, node.Advertise("/ip4/192.0.2.1/tcp/4001"))
	require.Contains(t, c.Addrs()[0], "/ip4/192.0.2.1/tcp/4001/p2p/")
	var text log
	join(t, network, node.Seeds("127.0.0.1:1"), node.LogTo(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	require.Eventually(t, func() bool { return text.len() > 0 }, time.Minute, 10*time.Millisecond)
}

func TestAClusterWithAKeyIsForWhoHoldsIt(t *testing.T) {
	// This test serves a cluster with a key of its own, in a zone. A caller with the
	// key gets an answer and sees the zone; one without it finds nobody.
	network := newNetwork(t)
	keys, err := node.NewClusterKeys("vault")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "vault.key")
	require.NoError(t, os.WriteFile(file, keys, 0o600))
	server := join(t, network, node.ClusterKeyFile(file), node.Zone("cellar"))
	_, err = server.Serve(t.Context(), "vault", arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
		return arke.Message{Body: []byte("gold")}, nil
	}))
	require.NoError(t, err)
	holder := join(t, network, node.ClusterKeyText(keys), node.Seeds(server.Addrs()...))
	reply, err := holder.Request(t.Context(), "vault", arke.Message{}, arke.WaitForMember())
	require.NoError(t, err)
	require.Equal(t, "gold", string(reply.Body))
	members, err := holder.Members(t.Context(), "vault")
	require.NoError(t, err)
	require.Equal(t, "cellar", members[0].Zone)

	other := join(t, network, node.Seeds(server.Addrs()...))
	require.Eventually(t, func() bool {
		_, err := other.Request(t.Context(), "vault", arke.Message{})
		require.Error(t, err)
		return arke.OutcomeOf(err) == "no_members"
	}, 30*time.Second, 50*time.Millisecond)
}

func TestACollectorShowsTheNodeThatWasJoined(t *testing.T) {
	// This test checks that a collector may be registered before there is a node,
	// shows its requests afterwards, and survives its end.
	var metrics node.Collector
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(&metrics))
	families, err := r.Gather()
	require.NoError(t, err)
	require.Empty(t, families)

	c := join(t, newNetwork(t), node.MeasuredBy(&metrics))
	_, err = c.Serve(t.Context(), "echo", arke.HandlerFunc(func(_ context.Context, r *arke.Request) (arke.Message, error) {
		return arke.Message{Body: r.Body}, nil
	}))
	require.NoError(t, err)
	_, err = c.Request(t.Context(), "echo", arke.Message{Body: []byte("x")})
	require.NoError(t, err)
	replies := func() float64 {
		families, err := r.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "arke_requests_total" {
				return f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		return 0
	}
	require.Equal(t, 1.0, replies())
	require.NoError(t, c.Close())
	require.Equal(t, 1.0, replies())
}
