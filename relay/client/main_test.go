// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for one thing before it says that it hangs.
// No promise is about it: on a busy machine everything may take long.
const patience = time.Minute

// place is where relays come and go, all over the same node without a network.
type place struct {
	t      testing.TB
	node   *fake.Node
	socket string
	change func(*relay.Config)
}

func newPlace(t testing.TB) *place {
	p := &place{t: t, node: &fake.Node{}, socket: filepath.Join(t.TempDir(), "relay.sock")}
	t.Cleanup(func() { require.NoError(t, p.node.Close()) })
	return p
}

// relay starts a relay there, which ends with the test or before.
func (p *place) relay() *relay.Relay {
	p.t.Helper()
	cfg := relay.Config{Node: p.node, Socket: p.socket}
	if p.change != nil {
		p.change(&cfg)
	}
	r, err := relay.New(cfg)
	require.NoError(p.t, err)
	require.NoError(p.t, r.Start(p.t.Context()))
	p.t.Cleanup(func() { r.Close() })
	return r
}

// client attaches one, which waits for a relay as long as that may take to come.
func (p *place) client() *client.Client {
	p.t.Helper()
	c, err := client.New(client.Config{Socket: p.socket, Name: "test", RelayWait: patience})
	require.NoError(p.t, err)
	require.NoError(p.t, c.Start(p.t.Context()))
	p.t.Cleanup(func() { require.NoError(p.t, c.Close()) })
	return c
}

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
}

// serve makes m a member of the cluster.
func serve(t testing.TB, m patterns.Messenger, cluster string, h patterns.HandlerFunc) patterns.Registration {
	t.Helper()
	r, err := m.Serve(t.Context(), cluster, h, patterns.Limits{})
	require.NoError(t, err)
	return r
}

func eventually(t testing.TB, what func() bool, text string) {
	t.Helper()
	require.Eventually(t, what, patience, time.Millisecond, text)
}
