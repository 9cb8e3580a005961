// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where round trips are short they change nothing; where they are long they count.
func TestPatienceFollowsTheRoundTrip(t *testing.T) {
	p := Patience{Time: 2 * time.Second, Trips: 10}
	for trip, want := range map[time.Duration]time.Duration{
		0:                      2 * time.Second,
		time.Millisecond:       2 * time.Second,
		200 * time.Millisecond: 2 * time.Second,
		201 * time.Millisecond: 2010 * time.Millisecond,
		maxTrip:                16 * time.Second,
	} {
		require.Equal(t, want, p.Over(trip), trip)
	}
}
