// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/cmd/arke/internal/fake"
	"github.com/arke-mesh/arke/patterns"
)

// echoing returns so many lines, whose members answer each message by f, and the last
// member.
func echoing(t *testing.T, count int, f func(body []byte) []byte) (lines *bench.Lines, last *fake.Tunnel) {
	t.Helper()
	var tunnels []patterns.Tunnel
	var members sync.WaitGroup
	for range count {
		caller, member := fake.Pair(1 << 16)
		tunnels, last = append(tunnels, caller), member
		members.Go(func() {
			for {
				body, err := member.Receive(context.Background())
				if err != nil {
					return
				}
				if body = f(body); body != nil {
					_ = member.Send(context.Background(), body)
				}
			}
		})
	}
	lines = bench.NewLines(tunnels)
	t.Cleanup(func() { lines.Close(); members.Wait() })
	return lines, last
}

func same(body []byte) []byte { return body }

func silent([]byte) []byte { return nil }

func TestManyMessagesAreUnderWayInFewTunnels(t *testing.T) {
	// This test checks that each sender gets the answer to its own message,
	// though they share two tunnels.
	lines, _ := echoing(t, 2, same)
	result, err := bench.Run(t.Context(), bench.Config{
		Rate: 5000, Duration: 100 * time.Millisecond, Concurrency: 32,
		Do: func(ctx context.Context, n int, _ time.Time) (string, error) {
			return lines.Do(ctx, n, make([]byte, n%100)) // a wrong answer would have another size
		},
	})
	require.NoError(t, err)
	require.Equal(t, 500, result.OK())
}

func TestMemberThatIsNoEchoIsNamed(t *testing.T) {
	// This test checks that answers are looked at.
	lines, _ := echoing(t, 1, func([]byte) []byte { return []byte("no") })
	_, err := lines.Do(t.Context(), 0, make([]byte, 5))
	require.ErrorContains(t, err, "no echo")
}

func TestBrokenTunnelEndsAllThatWait(t *testing.T) {
	// This test checks that those who wait, and those who come later, are told
	// why there is no answer.
	lines, member := echoing(t, 1, silent)
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := lines.Do(context.Background(), 0, []byte("x"))
			ended <- err
		}()
	}
	<-time.After(20 * time.Millisecond)
	member.Lose()
	for range 2 {
		require.ErrorIs(t, <-ended, patterns.ErrInterrupted)
	}
	_, err := lines.Do(t.Context(), 0, []byte("x"))
	require.ErrorIs(t, err, patterns.ErrInterrupted)
}

func TestNoAnswerInTimeIsADeadline(t *testing.T) {
	// This test checks that a member that is silent holds nobody longer than
	// the time-out.
	lines, _ := echoing(t, 1, silent)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := lines.Do(ctx, 0, []byte("x"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
