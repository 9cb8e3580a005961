// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/patterns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWaitingForAWorkerIsPartOfTheLatency(t *testing.T) {
	// This test checks that the loop is open: a cluster that answers one
	// request in 20 ms while 100 per second are asked is charged with the
	// queue that it causes.
	result, err := bench.Run(t.Context(), bench.Config{
		Rate:        100,
		Duration:    200 * time.Millisecond,
		Concurrency: 1,
		Do: func(context.Context, int, time.Time) (string, error) {
			<-time.After(20 * time.Millisecond)
			return "a", nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, 20, result.Sent)
	require.Equal(t, 20, result.OK())
	// The last one begins at 190 ms and ends after 20 × 20 ms.
	require.GreaterOrEqual(t, result.Latency.Max, int64(200_000))
	require.GreaterOrEqual(t, result.Latency.P50, int64(90_000))
}

func TestEveryOutcomeIsCountedByName(t *testing.T) {
	// This test checks that the JSON has each outcome's count, the shares of
	// the members among replies, and percentiles under their own names.
	errs := []error{nil, nil, nil, nil, patterns.ErrOverloaded, context.DeadlineExceeded, &patterns.RemoteError{}, patterns.ErrInterrupted}
	result, err := bench.Run(t.Context(), bench.Config{
		Rate:     8000,
		Duration: 10 * time.Millisecond,
		Do: func(_ context.Context, n int, _ time.Time) (string, error) {
			return []string{"a", "a", "a", "b"}[n%4], errs[n%8]
		},
	})
	require.NoError(t, err)
	raw, err := json.Marshal(result)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(raw, &got))
	for key, want := range map[string]float64{
		"sent": 80, "ok": 40, "unsent": 0,
		"overloaded": 10, "deadline": 10, "remote_error": 10, "interrupted": 10,
		"no_members": 0, "unreachable": 0, "unauthorized": 0, "too_large": 0, "cancelled": 0, "closed": 0, "other": 0,
	} {
		require.Equal(t, want, got[key], key)
	}
	require.Equal(t, map[string]any{"a": 0.75, "b": 0.25}, got["members"])
	for _, key := range []string{"p50", "p90", "p99", "p99.9", "p99.99", "max"} {
		require.Contains(t, got, key)
	}

	var table bytes.Buffer
	require.NoError(t, result.Write(&table))
	require.Contains(t, table.String(), "overloaded")
	require.Contains(t, table.String(), "75.0 %")
}

func TestWhatCouldNotBeginIsReported(t *testing.T) {
	// This test checks that a cluster that stands still does not hold the
	// run for ever, and that the requests whose turn never came are counted.
	result, err := bench.Run(t.Context(), bench.Config{
		Rate:        1000,
		Duration:    50 * time.Millisecond,
		Grace:       time.Second,
		Concurrency: 2,
		Do: func(context.Context, int, time.Time) (string, error) {
			<-time.After(1500 * time.Millisecond)
			return "", patterns.ErrUnreachable
		},
	})
	require.NoError(t, err)
	require.Equal(t, 2, result.Sent)
	require.Equal(t, 48, result.Unsent)
	require.Equal(t, patterns.OutcomeUnreachable, result.Commonest())
}

func TestRequestsBeginAtTheRate(t *testing.T) {
	// This test checks that no request begins before its intended start, and
	// that all of them begin.
	const rate, total = 2000, 200
	var begun atomic.Int64
	begin := time.Now()
	result, err := bench.Run(t.Context(), bench.Config{
		Rate:     rate,
		Duration: total * time.Second / rate,
		Do: func(_ context.Context, n int, intended time.Time) (string, error) {
			if time.Since(begin) < time.Duration(n)*time.Second/rate || time.Now().Before(intended) {
				return "", patterns.ErrClosed
			}
			begun.Add(1)
			return "a", nil
		},
	})
	require.NoError(t, err)
	require.EqualValues(t, total, begun.Load())
	require.Equal(t, total, result.OK())
}

func TestCancellingEndsTheRun(t *testing.T) {
	// This test checks that an interrupted run returns what it has measured.
	ctx, cancel := context.WithCancel(t.Context())
	result, err := bench.Run(ctx, bench.Config{
		Rate:        100,
		Duration:    time.Hour,
		Concurrency: 1, // so that those before have begun
		Do: func(_ context.Context, n int, _ time.Time) (string, error) {
			if n == 3 {
				cancel()
			}
			return "a", nil
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 4, result.OK())
	require.Positive(t, result.Unsent)
	var text strings.Builder
	require.NoError(t, result.Write(&text))
	require.Contains(t, text.String(), "stopped before their turn", "that is nobody's fault")
}

func TestConfigIsChecked(t *testing.T) {
	// This test checks that a senseless configuration is refused with a
	// message that names the field.
	ok := bench.Config{Rate: 1, Duration: time.Second, Do: func(context.Context, int, time.Time) (string, error) { return "", nil }}
	for name, change := range map[string]func(*bench.Config){
		"rate":        func(c *bench.Config) { c.Rate = 0 },
		"duration":    func(c *bench.Config) { c.Duration = -1 },
		"concurrency": func(c *bench.Config) { c.Concurrency = -1 },
		"less than":   func(c *bench.Config) { c.Rate = 0.5 },
		"nothing":     func(c *bench.Config) { c.Do = nil },
	} {
		cfg := ok
		change(&cfg)
		_, err := bench.Run(t.Context(), cfg)
		require.ErrorContains(t, err, name)
	}
}
