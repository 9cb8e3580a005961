// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// wrongClock is the clock of a machine that somebody has set wrong.
type wrongClock struct {
	overlay.Clock
	ahead time.Duration
}

func (c wrongClock) Now() time.Time { return c.Clock.Now().Add(c.ahead) }

// machine is that of a node whose clock is off. The sockets go by the right clock, so
// what the node says about times is translated; a deadline would be long over, or
// far away.
type machine struct{ wrapped }

func (m machine) Connect(ctx context.Context, c overlay.Candidate) (peer.ID, error) {
	return m.wrapped.Connect(timeless{ctx}, c)
}

func (m machine) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	return m.wrapped.Open(timeless{ctx}, p, addrs)
}

type stream struct {
	overlay.Stream
	ahead time.Duration
}

func (s stream) SetReadDeadline(t time.Time) error  { return s.Stream.SetReadDeadline(s.right(t)) }
func (s stream) SetWriteDeadline(t time.Time) error { return s.Stream.SetWriteDeadline(s.right(t)) }

func (s stream) right(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-s.ahead)
}

type router struct{ overlay.Router }

func (r router) Closest(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error) {
	return r.Router.Closest(timeless{ctx}, key, k)
}

// timeless ends when its context does, and does not say when that will be.
type timeless struct{ context.Context }

func (timeless) Deadline() (time.Time, bool) { return time.Time{}, false }

// withClock gives a node, on real sockets, a clock that is off.
func withClock(t *testing.T, network security.NetworkFile, ahead time.Duration) func(*node.Config) {
	secrets, err := security.NewNetwork(network)
	require.NoError(t, err)
	random := overlay.NewRealRand()
	key, err := security.GenerateNodeKey(random.Stream("key"))
	require.NoError(t, err)
	host, err := p2p.New(p2p.Config{Key: key, Network: secrets, Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	require.NoError(t, err)
	sockets := machine{wrapped{host, func(s overlay.Stream) overlay.Stream { return stream{s, ahead} }}}
	workers := overlay.NewWorkers(100)
	t.Cleanup(func() { require.NoError(t, workers.Close()) })
	return func(c *node.Config) {
		c.Name = "the late one"
		c.Seam = &overlay.Seam{
			Transport: sockets, Router: router{host.Router()}, Clock: wrongClock{overlay.NewRealClock(), ahead}, Rand: random, Exec: workers, Key: key,
		}
	}
}

func TestANodeWhoseClockIsOffIsToldAndTells(t *testing.T) {
	// This test starts a node whose clock is eight hours off in a network that is
	// right. It gets in, hears what time it is, and knows that it is the one who is
	// wrong; it finds the members of clusters by its peers' time, and where it finds
	// none its callers hear why it can't know, and never that there are none. Both ends
	// have it in their logs.
	network := newNetwork(t)
	core, logs := observer.New(zapcore.WarnLevel)
	var right []*node.Node
	for range 3 {
		right = append(right, start(t, network, func(c *node.Config) { c.Logger = zap.New(core) }, right...))
	}
	serve(t, right[1], "echo", echo, patterns.Limits{})

	shifted, own := observer.New(zapcore.WarnLevel)
	late := start(t, network, func(c *node.Config) {
		withClock(t, network, -8*time.Hour)(c)
		c.Logger = zap.New(shifted)
	}, right...)
	ctx := t.Context()                                        // without a deadline: that would be by the test's clock
	until(t, func() bool { return late.Status().Peers == 3 }) // who is alone may say "no member"
	asked := 0
	until(t, func() bool {
		// Other names have other anchors: with one link there would be no telling who is wrong.
		asked++
		_, err := late.Request(ctx, fmt.Sprint("nobody serves this ", asked), patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrUnreachable)
		require.NotErrorIs(t, err, patterns.ErrNoMembers)
		return late.Status().Clock.State == overlay.ClockWrong
	})
	until(t, func() bool { // as soon as its anchors have settled
		_, err := late.Request(ctx, "echo", patterns.Message{})
		require.NotErrorIs(t, err, patterns.ErrNoMembers)
		return err == nil
	})
	const why = "arke: no member could be reached: this node's clock is wrong: it differs by 8h0m0s from"
	_, err := late.Request(ctx, "nobody serves this", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	require.ErrorContains(t, err, why)
	_, err = late.Members(ctx, "nobody serves this")
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	require.ErrorContains(t, err, why)
	require.NotZero(t, own.FilterMessageSnippet("the clock of this node differs").Len())
	until(t, func() bool {
		return slices.ContainsFunc(logs.FilterMessageSnippet("clock").All(), func(e observer.LoggedEntry) bool {
			return strings.HasPrefix(fmt.Sprint(e.ContextMap()["peer"]), "the late one")
		})
	})
	for _, n := range right {
		require.Equal(t, overlay.ClockAgrees, n.Status().Clock.State)
	}
}

func TestAClockThatIsALittleOffCostsNothing(t *testing.T) {
	// This test starts a node whose clock is two minutes off: it serves, calls, and
	// says that there is nobody where that is so.
	network := newNetwork(t)
	right := start(t, network, nil)
	serve(t, right, "echo", echo, patterns.Limits{})
	late := start(t, network, withClock(t, network, 2*time.Minute), right)
	ctx := t.Context() // without a deadline: that would be by the test's clock
	until(t, func() bool {
		_, err := late.Request(ctx, "echo", patterns.Message{})
		return err == nil
	})
	until(t, func() bool {
		_, err := late.Request(ctx, "nobody", patterns.Message{})
		require.Error(t, err)
		return err == patterns.ErrNoMembers
	})
	require.Equal(t, overlay.ClockAgrees, late.Status().Clock.State)
	require.InDelta(t, -2*time.Minute, *late.Status().Links[0].ClockAhead, float64(5*time.Second))
}
