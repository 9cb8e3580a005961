// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"sync/atomic"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// Engine sends the pushes of one node. All methods may be called concurrently.
// It needs no closing: it ends with the request engine.
type Engine struct {
	requests request.Asker

	accepted, failed atomic.Uint64
}

// New returns the engine whose pushes r carries.
func New(r request.Asker) *Engine { return &Engine{requests: r} }

// Push sends m to one member of the cluster and returns when that member's
// queue has it. Errors, options and default deadline are those of a request.
// The caller keeps m and must not change it before Push returns.
func (e *Engine) Push(ctx context.Context, cluster string, m patterns.Message, o patterns.RequestOptions) error {
	_, err := e.requests.Ask(ctx, request.Ask{
		Cluster: cluster, Pattern: patterns.PatternPush, Message: m, Options: o,
	})
	if err != nil {
		e.failed.Add(1)
		return err
	}
	e.accepted.Add(1)
	return nil
}

// Status counts pushes since the start.
type Status struct {
	Accepted uint64 `json:"accepted"` // by a member
	Failed   uint64 `json:"failed"`   // with an error, which may be an open outcome
}

// Status describes the engine.
func (e *Engine) Status() Status {
	return Status{Accepted: e.accepted.Load(), Failed: e.failed.Load()}
}
