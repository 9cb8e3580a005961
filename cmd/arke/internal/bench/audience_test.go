// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/patterns"
)

func TestAudienceKeepsTheBooks(t *testing.T) {
	// This test checks that what was published for the subscribers is either
	// delivered, told to be missing, or named as untold, and that messages of
	// others do not count.
	a := bench.NewAudience(7)
	publish := func(of *bench.Audience, age time.Duration) {
		body := make([]byte, bench.StampBytes+5)
		of.Stamp(body, time.Now().Add(-age))
		a.ServePublication(patterns.Publication{Body: body})
	}
	for range 10 {
		publish(a, 50*time.Millisecond)
	}
	a.ServeGap(patterns.Gap{Missed: 3, Exact: true, Reason: patterns.GapSlow})
	publish(bench.NewAudience(8), 0)
	a.ServePublication(patterns.Publication{Body: []byte("short")})

	d := a.Delivery(15, 2*time.Second)
	require.EqualValues(t, 10, d.Delivered)
	require.EqualValues(t, 3, d.Missed)
	require.EqualValues(t, 2, d.Untold)
	require.EqualValues(t, 2, d.Strange)
	require.False(t, d.Inexact)
	require.InDelta(t, 5, d.PerSecond, 0.01)
	require.GreaterOrEqual(t, d.P50, int64(49_000))

	raw, err := json.Marshal(d)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(raw, &object))
	for _, key := range []string{"expected", "delivered", "missed", "untold", "p50", "p99.9", "max"} {
		require.Contains(t, object, key)
	}
	var text bytes.Buffer
	require.NoError(t, d.Write(&text))
	for _, want := range []string{"10 of 15", "missed     3", "untold     2"} {
		require.Contains(t, text.String(), want)
	}
}

func TestAwaitEndsWhenAllIsAccountedForOrNothingComesAnyMore(t *testing.T) {
	// This test checks both ends of the wait.
	a := bench.NewAudience(1)
	a.ServeGap(patterns.Gap{Missed: 5, Exact: true})
	begin := time.Now()
	a.Await(5, time.Minute)
	require.Less(t, time.Since(begin), 10*time.Second)
	a.Await(6, 20*time.Millisecond)
	require.Less(t, time.Since(begin), 10*time.Second)
}
