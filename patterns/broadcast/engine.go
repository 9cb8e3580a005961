// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package broadcast

import (
	"context"
	"sync/atomic"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// Engine sends the broadcasts of one node. All methods may be called
// concurrently. It needs no closing: it ends with the request engine.
type Engine struct {
	requests request.Asker

	sent, complete, accepted, missing atomic.Uint64
}

// New returns the engine whose broadcasts r carries.
func New(r request.Asker) *Engine { return &Engine{requests: r} }

// Broadcast sends m to every member of the cluster and returns when all have
// taken it, failed, or are late: by ctx, or after 5 s if it has no deadline.
// That is no error: the result names who is missing. It returns an error of a
// request if nobody was asked. The caller keeps m and must not change it before
// Broadcast returns.
func (e *Engine) Broadcast(ctx context.Context, name string, m patterns.Message) (patterns.BroadcastResult, error) {
	count := func(_ *cluster.Member, _ request.Answer, err error) (bool, error) { return err == nil, nil }
	t, err := e.requests.AskAll(ctx, request.All{Cluster: name, Pattern: patterns.PatternBroadcast, Message: m}, count)
	if err != nil {
		return patterns.BroadcastResult{}, err
	}
	result := patterns.BroadcastResult{Members: t.Members, Nodes: t.Nodes, Missing: t.Missing, Complete: t.Complete}
	e.count(result)
	return result, nil
}

func (e *Engine) count(r patterns.BroadcastResult) {
	e.sent.Add(1)
	if r.Complete {
		e.complete.Add(1)
	}
	e.accepted.Add(uint64(r.Members))
	e.missing.Add(uint64(len(r.Missing)))
}

// Status counts since the start.
type Status struct {
	Sent     uint64 `json:"sent"`     // broadcasts
	Complete uint64 `json:"complete"` // of these, those that everybody took
	Accepted uint64 `json:"accepted"` // copies that a member took
	Missing  uint64 `json:"missing"`  // copies of which that is not known
}

// Status describes the engine.
func (e *Engine) Status() Status {
	return Status{
		Sent: e.sent.Load(), Complete: e.complete.Load(), Accepted: e.accepted.Load(), Missing: e.missing.Load(),
	}
}
