// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	frames      = 100_000 // at the relay's socket
	perClient   = 10      // of them, until the next client comes
	connections = 3_000   // at the node's port

	// growth is how much larger a relay may be afterwards. Its own limits
	// allow for a few large messages in flight.
	growth = 150 << 20

	// atOnce of them come at the node's port together: where the kernel drops what is no
	// greeting, each waits in vain until it gives up.
	atOnce = 200
)

func TestGarbageAtTheSocketHarmsNobody(t *testing.T) {
	// This test checks that 100,000 random and mutated frames at a relay's
	// socket crash nothing and fill no memory, while honest traffic through
	// the same relay goes on without a failure.
	alone(t)
	a, b := together(harness.NewNetwork(t))
	b.Serves("echo", "--echo")
	a.Sees(1, "echo")
	real := conversation(t, a)
	size := a.Memory()

	load := harness.StartLoad(t, 100, asks(a, "echo"))
	garbage := harness.NewGarbage(1)
	for range frames / perClient {
		var said []byte
		if garbage.OneIn(10) {
			said = garbage.Noise(4096) // not even a greeting
		} else {
			said = bytes.Clone(real[0])
		}
		for range perClient {
			if garbage.OneIn(4) {
				said = append(said, garbage.Frame(512)...)
			} else {
				said = append(said, garbage.Mutant(real)...)
			}
		}
		require.True(t, harness.Throw("unix", a.Socket(), said), "the relay does not listen any more")
	}
	honest(t, load)
	bounded(t, size, a)
	status, _, err := a.Status()
	require.NoError(t, err)
	t.Logf("the relay counted: %v", status.Relay.Drops)
	a.Requests("echo", "still here").Gets("still here")
}

func TestGarbageAtTheNodePortHarmsNobody(t *testing.T) {
	// This test checks the same of raw bytes, and of handshakes with mistakes
	// in them, at the port for nodes.
	alone(t)
	net := harness.NewNetwork(t)
	a := net.Relay("a")
	tap := harness.TapPort(t, a)
	b := net.Relay("b", harness.Flags("--seed", tap.Addr()))
	harness.Together(t, a, b)
	b.Serves("echo", "--echo")
	a.Sees(1, "echo")
	greeting := tap.Heard()
	greeting = greeting[:min(len(greeting), 2048)]
	size := a.Memory()

	load := harness.StartLoad(t, 100, asks(a, "echo"))
	garbage := harness.NewGarbage(2)
	var throws errgroup.Group
	throws.SetLimit(atOnce)
	for range connections {
		said := garbage.Noise(4096)
		if garbage.OneIn(2) {
			said = garbage.Mutant([][]byte{greeting})
		}
		throws.Go(func() error {
			if !harness.Throw("tcp", a.HostPort(), said) {
				return errors.New("the relay does not listen any more")
			}
			return nil
		})
	}
	require.NoError(t, throws.Wait())
	honest(t, load)
	bounded(t, size, a)
	harness.Together(t, a, b)
}

// conversation returns what a client says that does everything there is, frame
// by frame, the greeting first.
func conversation(t *testing.T, r *harness.Relay) [][]byte {
	t.Helper()
	tap := harness.TapSocket(t, r)
	c := harness.Attach(t, client.Config{Socket: tap.Addr()})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	handler := patterns.HandlerFunc(func(_ context.Context, req *patterns.Request) (patterns.Message, error) {
		if len(req.Body) == 0 {
			return patterns.Message{}, errors.New("nothing to do")
		}
		return patterns.Message{Headers: req.Headers, Body: req.Body}, nil
	})
	registration, err := c.Serve(ctx, "bait", handler, patterns.Limits{Capacity: 2})
	require.NoError(t, err)
	for _, body := range []string{"hello", "", "once more"} {
		_, err := c.Request(ctx, "bait", patterns.Message{
			Headers: patterns.Headers{{Key: "key", Value: "value"}},
			Body:    []byte(body),
		}, patterns.Idempotent(), patterns.WaitForMember())
		var remote *patterns.RemoteError
		if err != nil && !errors.As(err, &remote) {
			t.Fatal(err)
		}
	}
	_, err = c.Members(ctx, "bait")
	require.NoError(t, err)
	_, err = c.Status(ctx)
	require.NoError(t, err)
	require.NoError(t, registration.Close(ctx))
	all := harness.Split(tap.Heard())
	require.GreaterOrEqual(t, len(all), 8, "recorded frames")
	return all
}

// honest ends the load and checks that all of it was answered.
func honest(t *testing.T, load *harness.Load) {
	t.Helper()
	outcomes := load.Stop()
	require.Empty(t, failures(outcomes), "of %d honest requests these failed", len(outcomes))
	t.Logf("%d honest requests", len(outcomes))
}

// bounded checks that the relay is not much larger than before.
func bounded(t *testing.T, before int, r *harness.Relay) {
	t.Helper()
	after := r.Memory()
	t.Logf("resident: %d MiB before, %d MiB after; with what tests need of it %d MiB", before>>20, after>>20, r.RSS()>>20)
	require.LessOrEqual(t, after, before+growth, "the relay grew")
}
