// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

func TestOneRequestBeyondALimitOfAMember(t *testing.T) {
	// This test goes one over each limit of a member, by requests and by
	// surveys: the named error, the member's counter, and no handler sees it;
	// those that fit are answered.
	for name, test := range map[string]struct {
		limits patterns.Limits
		fit    int // requests of 50 bytes
		err    error
		reason string
	}{
		"concurrency": {patterns.Limits{Concurrency: 2, QueueLength: -1}, 2, patterns.ErrOverloaded, "queue_length"},
		"length":      {patterns.Limits{Concurrency: 1, QueueLength: 3}, 4, patterns.ErrOverloaded, "queue_length"},
		"bytes":       {patterns.Limits{Concurrency: 1, QueueBytes: 100}, 3, patterns.ErrOverloaded, "queue_bytes"},
		"message":     {patterns.Limits{MessageBytes: 49}, 0, patterns.ErrTooLarge, "too_large"},
	} {
		for _, p := range []patterns.Pattern{patterns.PatternRequest, patterns.PatternSurvey} {
			t.Run(name+" "+p.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
					var handled atomic.Int64
					w.member(host, 9, "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
						handled.Add(1)
						time.Sleep(time.Second)
						return patterns.Message{}, nil
					}), test.limits)
					w.mu.Lock()
					w.members["geo"][0].MaxMessage = 0 // not said: the member itself has to refuse
					w.mu.Unlock()
					message := patterns.Message{Body: make([]byte, 50)}
					ctx := within(t, time.Minute)
					var fit []<-chan error
					for range test.fit {
						fit = append(fit, w.ask(caller, ctx, message))
					}
					time.Sleep(100 * time.Millisecond)
					require.ErrorIs(t, beyond(ctx, caller, p, message), test.err)
					require.Positive(t, host.engine.Drops()[test.reason])
					for _, f := range fit {
						require.NoError(t, <-f)
					}
					require.EqualValues(t, test.fit, handled.Load())
				})
			})
		}
	}
}

// beyond asks the only member, which refuses, and returns why.
func beyond(ctx context.Context, caller *fakeNode, p patterns.Pattern, m patterns.Message) error {
	if p == patterns.PatternRequest {
		_, err := caller.engine.Do(ctx, "geo", m, patterns.RequestOptions{})
		return err
	}
	_, tally, err := survey(caller, ctx, request.All{Message: m})
	if err == nil && len(tally.Missing) == 1 {
		err = tally.Missing[0].Err
	}
	return err
}

func TestAReplyThatIsTooLargeIsCounted(t *testing.T) {
	// This test has a handler return one byte more than can travel, and one byte
	// less: the caller is told that it ran, and the member's node counts it.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		size := request.MaxMessage
		w.member(host, 9, "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{Body: make([]byte, size)}, nil
		}), patterns.Limits{})
		_, err := do(caller, body("x"))
		require.NoError(t, err)
		require.Empty(t, host.engine.Drops())
		size++
		var remote *patterns.RemoteError
		_, err = do(caller, body("x"))
		require.ErrorAs(t, err, &remote)
		require.Equal(t, map[string]uint64{"reply_too_large": 1}, host.engine.Drops())
	})
}
