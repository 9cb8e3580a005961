// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
)

func TestReadyMeansJoinedAndSettledOrAloneByConfiguration(t *testing.T) {
	// This test checks each reason why a node is not ready.
	settled := 2 * time.Second
	seeds := func(states ...string) (list []overlay.SeedStatus) {
		for _, s := range states {
			list = append(list, overlay.SeedStatus{State: s})
		}
		return list
	}
	for name, tc := range map[string]struct {
		at  readiness
		why string
	}{
		"alone, as configured":        {readiness{phase: phaseRunning, ran: settled}, ""},
		"joined":                      {readiness{phase: phaseRunning, ran: settled, seeds: seeds("failing", "reached"), peers: 1}, ""},
		"no seed is there":            {readiness{phase: phaseRunning, ran: time.Hour, seeds: seeds("failing", "reached")}, "no seed could be joined yet"},
		"its only seed is itself":     {readiness{phase: phaseRunning, ran: settled, seeds: seeds("self", "self")}, ""},
		"itself and another":          {readiness{phase: phaseRunning, ran: settled, seeds: seeds("self", "trying")}, "no seed could be joined yet"},
		"joined a moment ago":         {readiness{phase: phaseRunning, ran: time.Second, seeds: seeds("failing", "reached"), peers: 1}, "the node has just been started"},
		"never started":               {readiness{phase: phaseNew}, "the node is new"},
		"draining":                    {readiness{phase: phaseDraining, ran: settled}, "the node is draining"},
		"closed":                      {readiness{phase: phaseClosed, ran: settled}, "the node is closed"},
		"with members":                {readiness{phase: phaseRunning, ran: settled, served: []cluster.ServedStatus{{Cluster: "geo", Members: 2, Acknowledged: 2}}}, ""},
		"with members not registered": {readiness{phase: phaseRunning, ran: settled, served: []cluster.ServedStatus{{Cluster: "geo", Members: 3, Acknowledged: 1}}}, "2 of 3 members of geo are not registered yet"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.at.why()
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.why)
		})
	}
}

// setBack is now as a machine shows it whose wall clock was set back. As package time has
// it, the first word has a flag, 33 bits of seconds, and 30 of nanoseconds; the monotonic
// reading is beside it.
func setBack(now time.Time, by time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&now)) -= uint64(by/time.Second) << 30
	return now
}

func TestAClockThatIsSetChangesNoneOfANodesPatience(t *testing.T) {
	// This test sets the wall clock eight hours forth and back: a node has run as long as
	// it has, and gateways that did not say are given little time for ten seconds.
	for _, by := range []time.Duration{0, 8 * time.Hour, -8 * time.Hour} {
		var l life
		var s silence
		now := time.Now()
		require.Zero(t, l.ran(now))
		require.Equal(t, lentTime, s.patience(now))
		l.since.Store(&now)
		s.begin(now)
		require.Equal(t, time.Second, l.ran(setBack(now.Add(time.Second), by)), by)
		require.Equal(t, lentShort, s.patience(setBack(now.Add(quietTime-1), by)), by)
		require.Equal(t, lentTime, s.patience(setBack(now.Add(quietTime), by)), by)
	}
}
