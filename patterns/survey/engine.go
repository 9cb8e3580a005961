// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// Engine makes the surveys of one node. All methods may be called concurrently.
// It needs no closing: it ends with the request engine.
type Engine struct {
	requests request.Asker

	made, complete, replies, missing atomic.Uint64
}

// New returns the engine whose surveys r carries.
func New(r request.Asker) *Engine { return &Engine{requests: r} }

// Survey sends m to every member of the cluster and calls each, one at a time
// and on the caller's goroutine, with every answer as it comes. It ends when
// everybody has answered, failed, or is late: by ctx, or after 5 s if it has no
// deadline. That is no error: the result names who is missing. It returns the
// error of each, or an error of a request if nobody was asked. The caller keeps
// m and must not change it before Survey returns; each owns what it gets, and may
// be nil.
func (e *Engine) Survey(ctx context.Context, name string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	if o.MaxReplies < 0 || o.MaxBytes < 0 {
		return patterns.SurveyResult{}, fmt.Errorf("survey: limits must not be negative: %+v", o)
	}
	o = o.WithDefaults()
	var result patterns.SurveyResult
	reply := func(m *cluster.Member, a request.Answer, err error) (bool, error) {
		var remote *patterns.RemoteError
		if err != nil && !errors.As(err, &remote) {
			return false, nil
		}
		result.Replies++
		if each == nil {
			return true, nil
		}
		return true, each(patterns.SurveyReply{Member: m.ID.String(), Peer: m.Peer.String(), Message: a.Message, Err: err})
	}
	t, err := e.requests.AskAll(ctx, request.All{
		Cluster: name, Pattern: patterns.PatternSurvey, Message: m, MaxMembers: o.MaxReplies, MaxBytes: o.MaxBytes,
	}, reply)
	result.Missing, result.Complete = t.Missing, t.Complete
	e.count(result)
	return result, err
}

func (e *Engine) count(r patterns.SurveyResult) {
	e.made.Add(1)
	if r.Complete {
		e.complete.Add(1)
	}
	e.replies.Add(uint64(r.Replies))
	e.missing.Add(uint64(len(r.Missing)))
}

// Status counts since the start.
type Status struct {
	Made     uint64 `json:"made"`     // surveys
	Complete uint64 `json:"complete"` // of these, those that everybody answered
	Replies  uint64 `json:"replies"`
	Missing  uint64 `json:"missing"` // members that were late or failed, or were beyond a limit
}

// Status describes the engine.
func (e *Engine) Status() Status {
	return Status{
		Made: e.made.Load(), Complete: e.complete.Load(), Replies: e.replies.Load(), Missing: e.missing.Load(),
	}
}
