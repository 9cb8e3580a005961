// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/world"
)

// spare is virtual time that a run may take beyond what its scenario says
// before it counts as stuck.
const spare = time.Hour

// playSim plays a job on the simulated network.
func playSim(t *testing.T, job Job, at *position) (*Findings, *sim.Trace, error) {
	s := job.Scenario
	cfg := sim.Config{
		Seed:   s.Seed,
		Limit:  s.Duration.D() + s.Settle.D() + spare,
		Record: job.Record,
	}
	var h *history.History
	var err error
	began := time.Now()
	trace := sim.Run(t, cfg, func(_ *testing.T, n *sim.Network) {
		w := world.New(n, world.Config{Seed: s.Seed, Net: cfg})
		// A context that was made outside of the bubble would hang it.
		h, err = play.Play(context.Background(), w, s, play.Options{
			Until: job.Until,
			Progress: func(now, end time.Duration) {
				at.reach(now, end)
				at.events.Store(n.Stats().Events)
			},
		})
	})
	if err != nil {
		return nil, nil, err
	}
	o := judge(job, h, time.Since(began))
	o.Info.TraceHash = fmt.Sprintf("%016x", trace.Hash)
	o.Info.Events = trace.Events
	o.Info.Checkpoints = trace.Checkpoints
	if job.Trace != "" {
		var text bytes.Buffer
		if err := trace.WriteNode(&text, job.Trace); err != nil {
			return nil, nil, err
		}
		o.Trace = text.Bytes()
	}
	return o, trace, nil
}
