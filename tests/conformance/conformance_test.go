// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/gateway"
	inner "github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/tests/conformance"
)

// country is a network on loopback.
type country struct {
	network []byte
	seeds   []string // the addresses of the first node
	// keys are files of clusters: all of them are the embedded nodes', brought are
	// the attached programs', and the rest is their relays'.
	keys    [][]byte
	brought int
	socket  string // of the relay that programs share
}

func newCountry(t *testing.T) *country {
	network, err := node.NewNetwork("test")
	require.NoError(t, err)
	return &country{network: network}
}

// embedded starts a program that is a node.
func (c *country) embedded(t *testing.T) *arke.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	options := []node.JoinOption{node.NetworkText(c.network), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(c.seeds...)}
	for _, file := range c.keys {
		options = append(options, node.ClusterKeyText(file))
	}
	n, err := node.Join(ctx, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	c.seed(n.Addrs())
	return n
}

func (c *country) seed(addrs []string) {
	if c.seeds == nil {
		c.seeds = addrs
	}
}

// attached starts a relay with a node, and a program beside it.
func (c *country) attached(t *testing.T) *arke.Conn {
	t.Helper()
	return c.attach(t, c.relay(t))
}

// together starts a program beside the relay that all such programs share.
func (c *country) together(t *testing.T) *arke.Conn {
	t.Helper()
	if c.socket == "" {
		c.socket = c.relay(t)
	}
	return c.attach(t, c.socket)
}

// relay starts a relay with a node, and returns its socket.
func (c *country) relay(t *testing.T) (socket string) {
	t.Helper()
	network, err := security.ParseNetworkFile(c.network)
	require.NoError(t, err)
	cfg := inner.Config{Network: network, Listen: []string{"127.0.0.1:0"}, NoMDNS: true, Seeds: c.seeds, ClusterKeys: map[string][]security.KeyVersion{}}
	for _, file := range c.keys[c.brought:] {
		keys, err := security.ParseClusterFile(file)
		require.NoError(t, err)
		cfg.ClusterKeys[keys.Name] = keys.Keys
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := inner.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Start(ctx))
	c.seed([]string{n.Addrs()[0] + "/p2p/" + n.Self().String()})
	socket = filepath.Join(t.TempDir(), "relay.sock")
	r, err := relay.New(relay.Config{Node: n, Socket: socket})
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background()))
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return socket
}

// attach starts a program that attaches there.
func (c *country) attach(t *testing.T, socket string) *arke.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	options := []arke.AttachOption{arke.Socket(socket), arke.Name("test")}
	for _, file := range c.keys[:c.brought] {
		options = append(options, arke.ClusterKeyText(file))
	}
	a, err := arke.Attach(ctx, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestPatternsKeepTheirPromisesEmbeddedAndAttached(t *testing.T) {
	// This test goes through the list with every pattern: between two embedded
	// nodes, between the clients of two relays, between those of one, and between an
	// embedded node and a client in both directions.
	verify(t, newCountry)
}

func TestPatternsKeepTheirPromisesUnderKeys(t *testing.T) {
	// This test goes through the same list where each cluster, and each group of
	// topics, has a key of its own. Programs that are attached bring a third of the
	// keys of clusters themselves, of every pattern some; their relays have the others.
	verify(t, func(t *testing.T) *country {
		c := newCountry(t)
		var own, others [][]byte
		for i, name := range conformance.Names() {
			file, err := node.NewClusterKeys(name)
			require.NoError(t, err)
			if i%3 == 0 && !strings.HasPrefix(name, "topic:") {
				own = append(own, file)
			} else {
				others = append(others, file)
			}
		}
		c.keys, c.brought = append(own, others...), len(own)
		return c
	})
}

// verify goes through the list in networks that are made so.
func verify(t *testing.T, found func(*testing.T) *country) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	type kind = func(*country, *testing.T) *arke.Conn
	for _, c := range []struct {
		name           string
		caller, member kind
	}{
		{"embedded-to-embedded", (*country).embedded, (*country).embedded},
		{"attached-to-attached", (*country).attached, (*country).attached},
		{"attached-to-one-relay", (*country).together, (*country).together},
		{"embedded-to-attached", (*country).embedded, (*country).attached},
		{"attached-to-embedded", (*country).attached, (*country).embedded},
	} {
		t.Run(c.name, func(t *testing.T) {
			land := found(t)
			conformance.Verify(t, conformance.Place{
				Caller:  c.caller(land, t),
				Member:  c.member(land, t),
				Another: func(t *testing.T) *arke.Conn { return c.caller(land, t) },
			})
		})
	}
}

func TestPatternsKeepTheirPromisesAcrossABorder(t *testing.T) {
	// This test goes through the list with every pattern between a caller in one network
	// and a member in another one, joined by a gateway that seals again what crosses; and by
	// one that can't open it, where each cluster has a key of its own. Topics are opened.
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Run("resealed", func(t *testing.T) { verifyAcross(t, nil) })
	t.Run("sealed", func(t *testing.T) {
		keys := map[string][]byte{}
		for _, name := range conformance.Names() {
			if strings.HasPrefix(name, "topic:") {
				continue
			}
			file, err := node.NewClusterKeys(name)
			require.NoError(t, err)
			keys[name] = file
		}
		verifyAcross(t, keys)
	})
}

// verifyAcross goes through the list between two networks; clusters with keys of their own
// cross sealed.
func verifyAcross(t *testing.T, keys map[string][]byte) {
	t.Helper()
	near, far := newCountry(t), newCountry(t)
	for _, file := range keys {
		near.keys, far.keys = append(near.keys, file), append(far.keys, file)
	}
	caller, member := near.embedded(t), far.embedded(t)
	cfg := gateway.Config{}
	for name, land := range map[string]*country{"near": near, "far": far} {
		network, err := security.ParseNetworkFile(land.network)
		require.NoError(t, err)
		cfg.Networks = append(cfg.Networks, gateway.Network{
			Name: name, Node: inner.Config{Network: network, Listen: []string{"127.0.0.1:0"}, NoMDNS: true, Seeds: land.seeds},
		})
	}
	for _, name := range conformance.Names() {
		if topic, is := strings.CutPrefix(name, "topic:"); is {
			cfg.Topics = append(cfg.Topics, gateway.TopicCrossing{From: "near", To: "far", Topic: topic + ".>", Reseal: true})
			continue
		}
		crossing := gateway.Crossing{From: "far", To: "near", Cluster: name, Reseal: keys == nil}
		if keys != nil {
			file, err := security.ParseClusterFile(keys[name])
			require.NoError(t, err)
			finding := file.Finding()
			crossing.Finding = &finding
		}
		cfg.Crossings = append(cfg.Crossings, crossing)
	}
	g, err := gateway.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	require.NoError(t, g.Start(context.Background()))
	conformance.Verify(t, conformance.Place{
		Caller: caller, Member: member, Border: true,
		Another: func(t *testing.T) *arke.Conn { return near.embedded(t) },
	})
}
