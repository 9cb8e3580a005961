// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/play"
)

// TestTheAgendaCallsWhenItIsTime checks the order of calls, and that nothing
// is called after the end.
func TestTheAgendaCallsWhenItIsTime(t *testing.T) {
	a := play.NewAgenda()
	type call struct {
		name string
		at   time.Duration
	}
	got := make(chan call, 3)
	plan := func(name string, at time.Duration) { a.At(at, name, func() { got <- call{name, a.Now()} }) }
	plan("never", time.Hour)
	plan("at once", 0)
	require.Equal(t, "at once", (<-got).name)
	later := a.Now() + 40*time.Millisecond
	plan("later", later)
	last := <-got
	require.Equal(t, "later", last.name)
	require.GreaterOrEqual(t, last.at, later)
	a.Stop()
	a.Wait()
	plan("too late", 0)
	require.Empty(t, got)
}
