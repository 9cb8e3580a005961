// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/tests/conformance"
)

// country is a network on loopback.
type country struct {
	network security.NetworkFile
	first   *node.Node
}

func newCountry(t *testing.T) *country {
	f, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	return &country{network: f}
}

// embedded starts a node.
func (c *country) embedded(t *testing.T) patterns.Messenger { return c.node(t) }

func (c *country) node(t *testing.T) *node.Node {
	t.Helper()
	cfg := node.Config{Network: c.network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true}
	if c.first != nil {
		cfg.Seeds = []string{c.first.Addrs()[0] + "/p2p/" + c.first.Self().String()}
	}
	n, err := node.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, n.Start(ctx))
	if c.first == nil {
		c.first = n
	}
	return n
}

// attached starts a node, a relay on it, and a client of that.
func (c *country) attached(t *testing.T) patterns.Messenger {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "relay.sock")
	r, err := relay.New(relay.Config{Node: c.node(t), Socket: socket})
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background()))
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	a, err := client.New(client.Config{Socket: socket, Name: "test"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// On a busy machine one attempt to attach may take longer than it may.
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.NoError(c, a.Start(ctx)) }, time.Minute, 20*time.Millisecond)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestPatternsKeepTheirPromisesEmbeddedAndAttached(t *testing.T) {
	// This test goes through the list with every pattern: between two embedded
	// nodes, between the clients of two relays, and between one of each in both
	// directions.
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	type kind = func(*country, *testing.T) patterns.Messenger
	for _, c := range []struct {
		name           string
		caller, member kind
	}{
		{"embedded-to-embedded", (*country).embedded, (*country).embedded},
		{"attached-to-attached", (*country).attached, (*country).attached},
		{"embedded-to-attached", (*country).embedded, (*country).attached},
		{"attached-to-embedded", (*country).attached, (*country).embedded},
	} {
		t.Run(c.name, func(t *testing.T) {
			land := newCountry(t)
			conformance.Verify(t, conformance.Place{
				Caller:  c.caller(land, t),
				Member:  c.member(land, t),
				Another: func(t *testing.T) patterns.Messenger { return c.caller(land, t) },
			})
		})
	}
}
