// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/arke-mesh/arke/sim/netns"
	"github.com/arke-mesh/arke/sim/play"
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
