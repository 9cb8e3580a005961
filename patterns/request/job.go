// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// job is one request at its member, from its arrival to its answer.
type job struct {
	// Immutable once it is offered to the queue.
	server  *Server
	remote  *remote
	id      uint64           // of the request
	number  uint64           // of the job, on this node
	seal                     // of the reply
	request patterns.Request // the handler's from the moment it runs

	ticket ticket // owned by the queue
	ctx    jobContext

	// Owned by the worker.
	scratch [64]byte
	parts   [2][]byte
}

// result is how a handler ended.
type result struct {
	outcome wire.Outcome
	code    patterns.Code
	text    string // of a remote error
	message patterns.Message

	tooLarge bool // the handler's reply can't travel
}

// keeps is described at the function.
func (j *job) keeps() bool { return j.ticket.keep }

// run calls the handler.
func (j *job) run() (r result) {
	defer func() {
		if p := recover(); p != nil {
			r = remoteError(patterns.CodePanic, fmt.Sprint(p))
			j.server.log.Error("handler panicked", zap.String("panic", r.text), zap.ByteString("stack", debug.Stack()))
		}
	}()
	switch v := &j.server.service; j.request.Pattern {
	case patterns.PatternPush:
		v.Push(&j.ctx, &j.request)
		return result{}
	case patterns.PatternBroadcast:
		v.Broadcast(&j.ctx, &j.request)
		return result{}
	default:
		r = newResult(v.Request(&j.ctx, &j.request))
		if r.tooLarge {
			j.server.engine.drops.Inc(dropReplyOver)
		}
		return r
	}
}
