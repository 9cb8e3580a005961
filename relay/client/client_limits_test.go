// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// This test goes one byte over what a client sends, with each pattern: the named
// error and the client's counter, and nothing reaches the relay. One byte less
// goes through.
func TestWhatAClientDoesNotSendIsCounted(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	serve(t, p.node, "geo", echo)
	headers := func(n int) patterns.Message {
		return patterns.Message{Headers: patterns.Headers{{Value: strings.Repeat("v", n)}}}
	}
	sends := []func(patterns.Message) error{
		func(m patterns.Message) error { _, err := c.Request(t.Context(), "geo", m); return err },
		func(m patterns.Message) error { return c.Push(t.Context(), "geo", m) },
		func(m patterns.Message) error { return c.Publish(t.Context(), "geo", m) },
		func(m patterns.Message) error { return c.TryPublish("geo", m) },
		func(m patterns.Message) error { _, err := c.Broadcast(t.Context(), "geo", m); return err },
		func(m patterns.Message) error { _, err := c.OpenTunnel(t.Context(), "geo", m); return err },
		func(m patterns.Message) error {
			_, err := c.Survey(t.Context(), "geo", m, nil, patterns.SurveyOptions{})
			return err
		},
	}
	for _, fits := range []patterns.Message{{Body: make([]byte, 16<<20-2)}, headers(patterns.MaxHeaderBytes - 5)} {
		require.NoError(t, sends[0](fits))
	}
	require.Empty(t, c.Drops())
	refused := uint64(0)
	for _, over := range []patterns.Message{{Body: make([]byte, 16<<20-1)}, headers(patterns.MaxHeaderBytes - 4)} {
		for _, send := range sends {
			require.ErrorIs(t, send(over), patterns.ErrTooLarge)
			refused++
			require.Equal(t, map[string]uint64{"message.too_large": refused}, c.Drops())
		}
	}
	require.Empty(t, r.Status().Drops)
}

// This test has a handler answer with more than can travel: its caller is told
// that it ran, and the handler's client counts it.
func TestAReplyThatIsTooLargeIsCounted(t *testing.T) {
	p := newPlace(t)
	p.relay()
	c := p.client()
	serve(t, c, "huge", func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: make([]byte, 32<<20)}, nil
	})
	var remote *patterns.RemoteError
	_, err := c.Request(t.Context(), "huge", patterns.Message{})
	require.ErrorAs(t, err, &remote)
	require.Equal(t, map[string]uint64{"reply.too_large": 1}, c.Drops())
}

// This test publishes more than may be under way without waiting: the named
// error, and the client's counter.
func TestWhatWouldHaveToWaitIsCounted(t *testing.T) {
	p := newPlace(t)
	p.relay()
	c := p.client()
	for range 100 {
		if err := c.TryPublish("a", patterns.Message{Body: make([]byte, 1<<20)}); err != nil {
			require.ErrorIs(t, err, patterns.ErrWouldBlock)
			require.Equal(t, map[string]uint64{"publish.would_block": 1}, c.Drops())
			require.NoError(t, c.Publish(t.Context(), "a", patterns.Message{}), "when those before have been")
			return
		}
	}
	t.Fatal("there is no limit")
}
