// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
)

func TestOnePeerCantFillTheLoansOfACrossing(t *testing.T) {
	// This test has peers lend networks that they invent: each has its share of a
	// crossing's loans, and the crossing its bound.
	loans := map[cluster.NetworkID]*loan{{}: {}}
	lend := func(by peer.ID) bool {
		ok := roomFor(loans, by)
		if ok {
			loans[cluster.NetworkID{1, byte(len(loans))}] = &loan{by: by}
		}
		return ok
	}
	for i := range 100 {
		require.Equal(t, i < maxCaused, lend("liar"), i)
	}
	require.True(t, lend("honest"))
	for i := range 100 {
		lend(peer.ID(fmt.Sprint("liar ", i%8)))
	}
	require.Len(t, loans, maxLoans)
	require.False(t, lend("late"))
	require.Equal(t, "networks_limit", refusedNetworks.String())
}

func TestAGatewayIsReadyWhenWhatItsConfigurationNamesWasLentOnce(t *testing.T) {
	// This test goes through the states of a crossing: only one of the configuration that
	// was not lent yet, or that fails, makes a gateway unready.
	x := CrossingStatus{Cluster: "geo", From: "eu", To: "us", Members: 1, Usable: 1}
	require.Equal(t, "geo of eu is not lent to us yet", x.unready(false, false))
	require.Empty(t, x.unready(true, false), "somebody has asked a moment ago")
	require.Empty(t, x.unready(false, true), "it is lent again in a moment")
	x.Error = errors.New("no anchor answers").Error()
	for _, asked := range []bool{false, true} {
		require.Equal(t, "geo of eu is not lent to us: no anchor answers", x.unready(asked, true))
	}
	x.Lent = true
	require.Empty(t, x.unready(false, true))
	x.Lent, x.Usable = false, 0
	require.Empty(t, x.unready(false, false), "nobody could be lent")
}

func TestWhatFailsIsTriedAgainLessAndLessOften(t *testing.T) {
	// This test lists the pauses between tries.
	var got []time.Duration
	for n := range 7 {
		got = append(got, retryAfter(n)/time.Second)
	}
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 30, 30}, got)
	require.Equal(t, retryMost, retryAfter(1<<40))
}
