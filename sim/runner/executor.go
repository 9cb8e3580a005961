// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import "context"

// Executor carries out a job and returns its outcome. It calls progress now
// and then from one goroutine; progress may be nil. It ends soon when ctx does,
// with ctx's error.
type Executor func(ctx context.Context, job Job, progress func(Progress)) (*Findings, error)

// Comparer carries out two jobs at level sim, recorded, and returns a text
// that names the first event at which their runs differ; "" = they don't.
type Comparer func(ctx context.Context, a, b Job) (string, error)

// Run carries out a job in a child process of this program, whose main must
// call ChildMain when it is started with the arguments `sim child`.
func Run(ctx context.Context, job Job) (*Findings, error) {
	return Process{}.Run(ctx, job, nil)
}
