// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// Drain refuses new requests at every member, finishes those that were
// accepted, and waits until callers have had time to learn that the members
// left: until then their requests are refused, and so tried elsewhere, instead
// of lost. Registrations must have been withdrawn before. Requests made here
// still work, as handlers may need them. If ctx ends before, what is left is
// ended as Server.Drain does.
func (e *Engine) Drain(ctx context.Context) error {
	e.draining.Store(true)
	servers := e.members.all()
	for _, s := range servers {
		s.drain()
	}
	var err error
	for _, s := range servers {
		if e := s.Drain(ctx); e != nil {
			err = e
		}
	}
	if err == nil {
		e.linger(ctx)
	}
	return err
}

// linger waits until callers have stopped to send requests here.
func (e *Engine) linger(ctx context.Context) {
	for {
		left := e.lingerFor()
		if left <= 0 || !overlay.Sleep(ctx, e.cfg.Clock, "request.sleep", left) {
			return
		}
	}
}

// lingerFor is how long to wait before looking again; 0 = no more. It counts
// from when the last member began to leave, which may be long ago: a relay has
// drained its clients' members one by one before its node is.
func (e *Engine) lingerFor() time.Duration {
	left := e.lastLeave.Load()
	if left == 0 {
		return 0
	}
	now := e.now()
	since, quiet := time.Duration(now-left), time.Duration(now-e.lastJob.Load())
	if since >= lingerLimit {
		return 0
	}
	return max(lingerTime-since, quietTime-quiet)
}
