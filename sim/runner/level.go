// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/internal/netns"
	"github.com/arke-mesh/arke/sim/internal/stack"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/world"
)

// playNet plays a job with real processes, which are this program again. It takes
// root; the error says so.
func playNet(ctx context.Context, job Job, at *position) (*Findings, error) {
	if err := netns.Supported(); err != nil {
		return nil, fmt.Errorf("%w: %w", play.ErrUnsupported, err)
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "arke-sim-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	level, err := netns.New(netns.Config{Seed: job.Scenario.Seed, Binary: binary, Dir: dir})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	h, err := play.Play(ctx, level, job.Scenario, play.Options{
		Until:    job.Until,
		Progress: at.reach,
	})
	if err != nil {
		return nil, err
	}
	return judge(job, h, time.Since(began)), nil
}

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
		Shake:  job.Shake,
	}
	var h *history.History
	var err error
	began := time.Now()
	trace := sim.Run(t, cfg, func(_ *testing.T, n *sim.Network) {
		w := world.New(n, world.Config{Seed: s.Seed})
		// A context that was made outside of the bubble would hang it.
		h, err = play.Play(context.Background(), w, s, play.Options{
			Until: job.Until,
			Progress: func(now, end time.Duration) {
				at.reach(now, end)
				at.events.Store(n.Events())
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
