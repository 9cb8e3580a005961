// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// This test checks between two nodes that a handler that was brief so far runs on the
// goroutine that has read its request, that one that suddenly waits for another request
// of its own caller gets the answer, over the connection whose reader it holds up, and
// that its node closes while it waits.
func TestABriefHandlerMayWaitAfterAll(t *testing.T) {
	network := newNetwork(t)
	member := start(t, network, nil)
	caller := start(t, network, nil, member)
	serve(t, caller, "back", echo, patterns.Limits{})
	var asks, where atomic.Pointer[string]
	serve(t, member, "geo", patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		if r.Body[0] == '?' {
			stack := make([]byte, 64<<10)
			text := string(stack[:runtime.Stack(stack, false)])
			where.Store(&text)
			return patterns.Message{}, nil
		}
		if to := asks.Load(); to != nil {
			return member.Request(ctx, *to, patterns.Message{Body: []byte("and you?")}, patterns.WaitForMember())
		}
		return patterns.Message{Body: r.Body}, nil
	}), patterns.Limits{})
	ask := func(text string) (patterns.Message, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return caller.Request(ctx, "geo", patterns.Message{Body: []byte(text)}, patterns.WaitForMember())
	}
	enough := 100
	brief := func() bool { // until the handler runs where its request is read
		enough *= 2 // a busy machine makes brief handlers long
		for range enough {
			_, err := ask("hello")
			require.NoError(t, err)
		}
		_, err := ask("?")
		require.NoError(t, err)
		return strings.Contains(*where.Load(), "session.(*attachment).readOn")
	}
	for range 3 {
		require.Eventually(t, brief, patience, time.Millisecond)
		back := "back"
		asks.Store(&back)
		reply, err := ask("hello")
		require.NoError(t, err)
		require.Equal(t, "and you?", string(reply.Body))
		asks.Store(nil)
	}
	nobody := "nobody"
	asks.Store(&nobody)
	waits := make(chan error, 1)
	go func() {
		_, err := ask("hello")
		waits <- err
	}()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, member.Close())
	require.Error(t, <-waits)
}
