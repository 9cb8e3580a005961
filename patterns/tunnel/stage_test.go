// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// stage is a simulated network of two nodes or more; the first one opens.
// Everything happens in virtual time.
type stage struct {
	*simnet.Nodes
	t     *testing.T
	net   *sim.Network
	nodes map[string]*node.Node
}

// play runs f with a stage.
func play(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) { f(t, newStage(t, n)) })
}

func newStage(t *testing.T, n *sim.Network) *stage {
	return &stage{Nodes: simnet.New(t, n, "stage"), t: t, net: n, nodes: make(map[string]*node.Node)}
}

func (s *stage) node(name string, change ...func(*node.Config)) *node.Node {
	s.nodes[name] = s.Start(name, change...)
	return s.nodes[name]
}

// pair starts two nodes, of which the second one serves "pipe" with h.
func (s *stage) pair(h func(context.Context, patterns.Tunnel) error, l patterns.Limits, change ...func(*node.Config)) (a, b *node.Node) {
	a, b = s.node("a", change...), s.node("b", change...)
	s.serve(b, h, l)
	return a, b
}

func (s *stage) serve(n *node.Node, h func(context.Context, patterns.Tunnel) error, l patterns.Limits) patterns.Registration {
	r, err := n.Serve(context.Background(), "pipe", patterns.Service{Tunnel: h}, l)
	require.NoError(s.t, err)
	return r
}

func (s *stage) open(n *node.Node, body string, opts ...patterns.RequestOption) patterns.Tunnel {
	t, err := n.OpenTunnel(context.Background(), "pipe", patterns.Message{Body: []byte(body)}, opts...)
	require.NoError(s.t, err)
	return t
}

// sealed gives a node an explicit key of "pipe".
func sealed(c *node.Config) {
	c.ClusterKeys = map[string][]security.KeyVersion{"pipe": {{Version: 1, Key: security.Key{1, 2, 3}}}}
}

// echo sends back what comes until the other side has ended.
func echo(ctx context.Context, t patterns.Tunnel) error {
	for {
		body, err := t.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = t.Send(ctx, body)
		}
		if err != nil {
			return err
		}
	}
}

// receiveAll calls each with the messages of a tunnel, and returns how it ends.
func receiveAll(ctx context.Context, t patterns.Tunnel, each func(body []byte)) error {
	for {
		body, err := t.Receive(ctx)
		if err != nil {
			return err
		}
		each(body)
	}
}

// receives has that message come out of a tunnel.
func receives(t *testing.T, tunnel patterns.Tunnel, want string) {
	t.Helper()
	body, err := tunnel.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, string(body))
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// pattern returns n bytes that are not alike.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// done waits for the end of a tunnel.
func done(t *testing.T, tunnel patterns.Tunnel) error {
	t.Helper()
	select {
	case <-tunnel.Done():
		return tunnel.Err()
	case <-time.After(time.Minute):
		require.Fail(t, "the tunnel does not end")
		return nil
	}
}

// drops is a node's counter of that name.
func drops(n *node.Node, name string) uint64 { return n.Status().Drops["tunnel."+name] }
