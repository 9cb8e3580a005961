// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

func TestClientSurvivesItsRelaysRestart(t *testing.T) {
	// This test checks that callers and members attach again by themselves
	// when their relay was killed and is back, with nothing but the socket in
	// common, and that a call in between says that it did not get through.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	c := a.Client()
	members := newLedger()
	members.serves(t, b, "far", "far")
	members.serves(t, a, "near", "near")
	serving := a.Serves("process", "--echo")
	a.Sees(1, "far")

	a.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := c.Request(ctx, "far", patterns.Message{})
	require.Error(t, err, "a request without a relay was answered")
	a.Forget()
	a.Restart(harness.Seed(b))

	harness.Eventually(t, harness.Patience, "that the caller is attached again", func() error {
		return harness.Echoed(c, time.Second, "far", "hello")
	})
	b.Sees(1, "near")
	b.Sees(1, "process")
	b.Requests("near", "hello").Gets("hello")
	b.Requests("process", "hello").Gets("hello")
	require.True(t, serving.Alive(), "arke serve did not survive its relay")
}

func TestPendingRequestEndsWhenTheRelayDies(t *testing.T) {
	// This test checks that a caller whose own relay is killed learns at once
	// that its request was interrupted, instead of waiting for the deadline.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	running := make(chan struct{})
	handler := patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		close(running)
		<-ctx.Done()
		return patterns.Message{}, ctx.Err()
	})
	_, err := a.Client().Serve(t.Context(), "slow", handler, patterns.Limits{})
	require.NoError(t, err)
	a.Sees(1, "slow")
	c := a.Client()
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := c.Request(ctx, "slow", patterns.Message{})
		ended <- err
	}()
	<-running
	a.Kill()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, patterns.ErrInterrupted)
	case <-time.After(harness.Patience):
		t.Error("it did not end")
	}
}

func TestRequestIsInterruptedWhenItsMemberDies(t *testing.T) {
	// This test checks that a caller learns at once that the process which
	// handles its request was killed, though that one's relay is well.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	member, request := occupied(t, a, b, "exec sleep 5")
	member.Kill()
	request.Ends(7)
	a.Sees(0, "slow")
}

// occupied has a program at b serve slow, by a command that goes on like this, and a
// request from a that is with it.
func occupied(t *testing.T, a, b *harness.Relay, then string) (member, request *harness.Process) {
	t.Helper()
	started := filepath.Join(harness.Folder(t), "started")
	member = b.Serves("slow", "--exec", "touch "+started+"; "+then)
	a.Sees(1, "slow")
	request = a.Asks("slow", "x", "--timeout", "1m")
	exists(t, started)
	return member, request
}

// exists waits until a handler has made the file.
func exists(t *testing.T, path string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "that the handler runs", func() error {
		_, err := os.Stat(path)
		return err
	})
}

func TestRelayWithAnotherKeyNeverGetsIn(t *testing.T) {
	// This test checks that a relay with another network's key is turned away
	// in the handshake: whoever it dials, it knows of nobody and has no member to ask,
	// and nobody's status knows of it.
	scenario(t)
	net, other := harness.NewNetwork(t), harness.NewNetwork(t)
	relays := net.Relays(3)
	relays[0].Serves("echo", "--echo")
	intruder := other.Relay("x", harness.Seed(relays...))

	// It keeps trying all the time; three seconds are a dozen attempts.
	harness.Never(t, 3*time.Second, "that the intruder gets in", intruder.KnowsAnybody)
	intruder.Requests("echo", "let me in").Ends(5).Says("has not joined its network", "another network key")
	for _, r := range relays {
		r.Ignores(intruder)
	}
	relays[2].Requests("echo", "still here").Gets("still here")
}

func TestTwoNetworksOnOneMachineStayApart(t *testing.T) {
	// This test checks that clusters of the same name in two networks have
	// nothing to do with each other, even if the relays dial each other.
	scenario(t)
	one, two := harness.NewNetwork(t), harness.NewNetwork(t)
	a, b := together(one)
	c := two.Relay("c", harness.Seed(a, b))
	d := two.Relay("d", harness.Seed(c, a))
	harness.Together(t, c, d)

	b.Serves("name", "--exec", "echo one")
	d.Serves("name", "--exec", "echo two")
	a.Sees(1, "name")
	c.Sees(1, "name")
	for range 5 {
		a.Requests("name").Gets("one\n")
		c.Requests("name").Gets("two\n")
	}
	for _, pair := range [][2]*harness.Relay{{a, c}, {a, d}, {b, c}, {d, b}} {
		pair[0].Ignores(pair[1])
		pair[1].Ignores(pair[0])
	}
}

func together(net *harness.Network) (a, b *harness.Relay) {
	relays := net.Relays(2)
	return relays[0], relays[1]
}

// tally is a subscriber that counts.
type tally struct {
	delivered, missed, inexact atomic.Uint64
	guessed                    atomic.Pointer[patterns.Gap] // the last one that is not exact
}

func (s *tally) ServePublication(patterns.Publication) { s.delivered.Add(1) }

func (s *tally) ServeGap(g patterns.Gap) {
	s.missed.Add(g.Missed)
	if !g.Exact {
		s.inexact.Add(1)
		s.guessed.Store(&g)
	}
}

// all is how many messages were delivered, or told as missing.
func (s *tally) all() int { return int(s.delivered.Load() + s.missed.Load()) }

func TestWhatAClientMissedIsCountedByItsRelay(t *testing.T) {
	// This test breaks the connection between a subscriber and its relay again
	// and again while somebody publishes at another relay: what was delivered
	// and what was told as missing is exactly what was sent.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	tap := harness.TapSocket(t, a)
	c := harness.Attach(t, client.Config{Socket: tap.Addr()})
	var got tally
	s, err := c.Subscribe(t.Context(), "news.>", &got, patterns.SubscribeOptions{})
	require.NoError(t, err)

	const count, rounds = 30000, 15
	publisher := b.Client()
	for i := range count {
		if i%(count/rounds) == count/rounds/2 {
			tap.Cut()
		}
		err := publisher.Publish(t.Context(), "news.x", patterns.Message{Body: []byte("hello")})
		require.NoError(t, err)
	}
	harness.AtLeast(t, count, "messages delivered, or told as missing", got.all)
	t.Logf("%d delivered, %d told as missing", got.delivered.Load(), got.missed.Load())
	require.Equal(t, count, got.all(), "delivered and told is not what was sent")
	require.Zero(t, got.inexact.Load(), "not exact: %+v", got.guessed.Load())
	require.NotZero(t, got.delivered.Load(), "nothing comes")
	require.Equal(t, s.Status().Missed, got.missed.Load())
}
