// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/stack"
)

// playStack plays a job on real libp2p hosts in virtual time.
func playStack(t *testing.T, job Job, at *position) (*Findings, error) {
	var h *history.History
	var err error
	began := time.Now()
	synctest.Test(t, func(*testing.T) {
		var level *stack.Stack
		if level, err = stack.New(stack.Config{Seed: job.Scenario.Seed}); err != nil {
			return
		}
		// A context that was made outside of the bubble would hang it.
		h, err = play.Play(context.Background(), level, job.Scenario, play.Options{
			Until:    job.Until,
			Progress: at.reach,
		})
	})
	if err != nil {
		return nil, err
	}
	return judge(job, h, time.Since(began)), nil
}
