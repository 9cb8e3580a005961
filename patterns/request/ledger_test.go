// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/histogram"
	"github.com/arke-mesh/arke/patterns"
)

func TestAClusterBeyondTheBoundIsCountedWithTheOthers(t *testing.T) {
	// This test checks that names fill no memory, and that nothing goes uncounted.
	var l ledgers
	for i := range MaxLedgers {
		l.get("c"+strconv.Itoa(i)).count(patterns.OutcomeReply, time.Millisecond)
	}
	require.Same(t, l.get("c7"), l.get("c7"))
	require.Zero(t, l.beyond.Load())
	for _, name := range []string{"x", "y", "x"} {
		require.Same(t, &l.other, l.get(name))
		l.get(name).count(patterns.OutcomeDeadline, time.Second)
	}
	require.Len(t, l.of, MaxLedgers)
	require.EqualValues(t, 3, l.other.Outcome(patterns.OutcomeDeadline))
	require.NotZero(t, l.beyond.Load())
}

func TestOnlyWhatWasAnsweredHasADuration(t *testing.T) {
	// This test checks which outcomes are measured: the duration of a time-out
	// would say how patient callers are, not how fast members.
	var l Ledger
	l.count(patterns.OutcomeReply, time.Millisecond)
	l.count(patterns.OutcomeRemoteError, time.Millisecond)
	l.count(patterns.OutcomeDeadline, time.Hour)
	l.count(patterns.OutcomeNoMembers, 0)
	var s histogram.Snapshot
	l.Took(&s)
	require.EqualValues(t, 2, s.Count)
	require.InEpsilon(t, 0.002, s.Sum, 1e-9)
}
