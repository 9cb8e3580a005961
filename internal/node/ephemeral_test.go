// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// tapped is a stream that keeps what its node writes below links, as somebody
// would have it for whom TLS is no obstacle.
type tapped struct {
	overlay.Stream
	tape *tape
}

func (s tapped) Write(b []byte) (int, error) {
	s.tape.mu.Lock()
	s.tape.bytes = append(s.tape.bytes, b...)
	s.tape.mu.Unlock()
	return s.Stream.Write(b)
}

type tape struct {
	mu    sync.Mutex
	bytes []byte
}

// take returns what was recorded since.
func (x *tape) take() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.bytes
	x.bytes = nil
	return b
}

// sealedIn returns all that is sealed in what was recorded: whatever begins with a format
// and the id of the cluster's key.
func sealedIn(tape []byte, format byte, key security.KeyID) (all [][]byte) {
	begin := append([]byte{format}, key[:]...)
	for {
		i := bytes.Index(tape, begin)
		if i < 0 {
			return all
		}
		all = append(all, tape[i:])
		tape = tape[i+1:]
	}
}

// everyVerb takes whatever comes, and answers in kind.
var everyVerb = patterns.Service{
	Request: echo, Push: func(context.Context, *patterns.Request) {}, Broadcast: func(context.Context, *patterns.Request) {},
	Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		m, err := t.Receive(ctx)
		if err != nil {
			return err
		}
		return t.Send(ctx, m)
	},
}

// useAll sends a message in each pattern that is for members.
func useAll(t *testing.T, n *node.Node) {
	t.Helper()
	m := patterns.Message{Headers: patterns.Headers{{Key: "h", Value: "secret"}}, Body: []byte("secret")}
	_, err := n.Request(t.Context(), "vault", m, patterns.WaitForMember())
	require.NoError(t, err)
	surveyed, err := n.Survey(t.Context(), "vault", m, func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.True(t, surveyed.Complete)
	require.NoError(t, n.Push(t.Context(), "vault", m))
	sent, err := n.Broadcast(t.Context(), "vault", m)
	require.NoError(t, err)
	require.True(t, sent.Complete)
	tunnel, err := n.OpenTunnel(t.Context(), "vault", m)
	require.NoError(t, err)
	defer tunnel.Close()
	require.NoError(t, tunnel.Send(t.Context(), m.Body))
	got, err := tunnel.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, m.Body, got)
}

func TestWhatWasRecordedBetweenTwoNodesStaysClosed(t *testing.T) {
	// This test records all that two nodes write to each other while they use each pattern
	// that is for members, tunnels included, over three hours, under the key of a cluster
	// and under the network's. Who gets those keys later finds neither text, nor
	// anything that is sealed with the cluster's key alone but records, which have
	// another format; so no tunnel either, whose salts are in what is sealed. Requests go
	// on through each change of the ephemeral keys.
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprint("own key ", own), func(t *testing.T) {
			sim.Run(t, sim.Config{Seed: 1, Limit: 4 * time.Hour}, func(t *testing.T, n *sim.Network) {
				keys := []security.KeyVersion{{Version: 1, Key: security.Key{5}}}
				s, recorder := simnet.New(t, n, "secret"), &tape{}
				change := func(c *node.Config) {
					c.Seam.Transport = wrapped{c.Seam.Transport, func(s overlay.Stream) overlay.Stream { return tapped{s, recorder} }}
					c.Seal = request.SealAlways
					if own {
						c.ClusterKeys = map[string][]security.KeyVersion{"vault": keys}
					}
				}
				member, caller := s.Start("member", change), s.Start("caller", change)
				_, err := member.Serve(t.Context(), "vault", everyVerb, patterns.Limits{})
				require.NoError(t, err)

				leaked := security.NewCluster("vault", keys)
				if !own {
					network, err := security.NewNetwork(s.Config("thief").Network)
					require.NoError(t, err)
					leaked = network.Cluster("vault")
				}
				thief := security.NewEphemerals(overlay.NewRealRand().Stream("thief"), time.Now())
				used := make(map[string]bool)
				for hour := range 3 {
					useAll(t, caller)
					all := recorder.take()
					require.NotContains(t, string(all), "secret")
					require.Empty(t, sealedIn(all, 1, leaked.KeyID()), "by the cluster's key alone")
					agreed := sealedIn(all, 2, leaked.KeyID())
					require.GreaterOrEqual(t, len(agreed), 10, "five requests and five replies")
					requests := 0
					for _, sealed := range agreed {
						_, err = thief.Agreed(leaked, security.Binding{Sender: caller.Self(), SenderIncarnation: n.Incarnation("caller")}, sealed)
						require.Error(t, err)
						if errors.Is(err, security.ErrForgotten) { // a request, by its proof
							requests++
							used[string(sealed[73:81])] = true
						}
					}
					require.Equal(t, 5, requests)
					require.Len(t, used, hour+1, "each hour has a key of its own")
					time.Sleep(security.EphemeralTime)
				}
			})
		})
	}
}
