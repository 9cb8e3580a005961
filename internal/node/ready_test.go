// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"time"

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
