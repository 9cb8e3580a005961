// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// survey is one Survey, over all the sessions it was tried on.
type survey struct {
	// Immutable.
	frame session.Survey
	each  func(patterns.SurveyReply) error

	replies int // that each has had

	// Guarded by mu.
	mu      sync.Mutex
	waiting []*session.SurveyReply
	came    int
	bytes   uint64

	signal chan struct{} // has an element if something waits
}

// Survey implements patterns.Messenger. If the relay is lost meanwhile, it ends
// with patterns.ErrInterrupted, and with a *patterns.DeadlineError if the relay
// does not say in time who is missing; the result has the replies that came.
func (c *Client) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	headers, err := c.checked(cluster, m)
	if err != nil {
		return patterns.SurveyResult{}, err
	}
	o = o.WithDefaults()
	if o.MaxReplies < 0 || o.MaxBytes < 0 || o.MaxReplies > 1<<31-1 {
		return patterns.SurveyResult{}, fmt.Errorf("client: a survey of %d replies and %d bytes", o.MaxReplies, o.MaxBytes)
	}
	if err := c.begin(); err != nil {
		return patterns.SurveyResult{}, err
	}
	defer c.end()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	if each == nil {
		each = func(patterns.SurveyReply) error { return nil }
	}
	s := &survey{each: each, signal: make(chan struct{}, 1), frame: session.Survey{
		MaxReplies: uint32(o.MaxReplies), MaxBytes: uint64(o.MaxBytes),
		Cluster: cluster, Headers: headers, Body: lasting(m.Body),
	}}
	return c.survey(ctx, s)
}

// survey tries until there is an end, or everybody may have been asked.
func (c *Client) survey(ctx context.Context, s *survey) (patterns.SurveyResult, error) {
	var tries course
	for {
		var end *session.SurveyEnd
		a, err := c.current(ctx)
		if err == nil {
			end, err = a.survey(ctx, s)
		}
		if err == nil {
			err = failure.Error(end.Failure, s.frame.Cluster)
		}
		if errors.Is(err, failure.ErrDraining) {
			err = a.awaitEnd(ctx, err)
		}
		var stop *stopped
		if errors.As(err, &stop) {
			return patterns.SurveyResult{Replies: s.replies}, stop.cause
		}
		again, final := tries.settle(err)
		switch {
		case again:
			continue
		case end == nil:
			return patterns.SurveyResult{Replies: s.replies}, final
		}
		return patterns.SurveyResult{
			Replies:  int(end.Replies),
			Missing:  missing(end.Missing, s.frame.Cluster),
			Complete: end.Complete,
		}, final
	}
}

// stopped wraps an error of the program's, which is none of ours whatever it
// matches.
type stopped struct{ cause error }

func (s *stopped) Error() string { return s.cause.Error() }

// survey tries on this session. Errors are those of call, and *stopped.
func (a *attachment) survey(ctx context.Context, s *survey) (*session.SurveyEnd, error) {
	if ctx.Err() != nil {
		return nil, &patterns.DeadlineError{Cause: cause(ctx)}
	}
	id, answer, err := a.expectCall()
	if err != nil {
		return nil, err
	}
	a.addSurvey(id, s)
	defer a.removeSurvey(id)
	frame := s.frame
	deadline, _ := ctx.Deadline()
	frame.ID, frame.Timeout = id, session.Micros(time.Until(deadline))
	sent, err := a.sender.SendWait(ctx, &frame)
	if err != nil {
		return nil, a.client.notSent(ctx, err)
	}
	f, err := s.collect(ctx, a, id, answer, sent)
	if err != nil {
		return nil, err
	}
	end, ok := f.(*session.SurveyEnd)
	if !ok {
		a.end(fmt.Errorf("client: the relay answers with %s where a survey's end is due", f.Kind()))
		return nil, errLost
	}
	return end, nil
}

// collect hands on replies until the end comes. Replies that have come go to
// the program whatever ends it.
func (s *survey) collect(ctx context.Context, a *attachment, id uint64, answer <-chan session.Frame, sent uint64) (f session.Frame, err error) {
	silent := a.silent
	for f == nil && err == nil {
		select {
		case <-s.signal:
		case f = <-answer:
		case <-silent:
			silent = nil
			if a.sender.Written() < sent {
				return nil, errNotSent
			}
		case <-a.ctx.Done():
			f, err = a.await(ctx, answer)
		case <-ctx.Done():
			f, err = a.lastWord(ctx, id, answer, longGrace)
		}
		if stop := s.hand(); stop != nil {
			a.sender.SendReserved(&session.Cancel{ID: id}) // if it is lost, so is only a courtesy
			return nil, &stopped{stop}
		}
	}
	return f, err
}

// hand calls each with what has come.
func (s *survey) hand() error {
	s.mu.Lock()
	frames := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, f := range frames {
		s.replies++
		err := s.each(patterns.SurveyReply{
			Member:  f.Member,
			Peer:    f.Peer,
			Message: patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body},
			Err:     failure.Error(f.Failure, s.frame.Cluster),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add takes a reply; false if there are more than were asked for.
func (s *survey) add(f *session.SurveyReply) bool {
	s.mu.Lock()
	s.came++
	s.bytes += uint64(len(f.Body))
	s.waiting = append(s.waiting, f)
	ok := s.came <= int(s.frame.MaxReplies) && s.bytes <= s.frame.MaxBytes
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default:
	}
	return ok
}

func (a *attachment) addSurvey(id uint64, s *survey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.surveys[id] = s
}

func (a *attachment) removeSurvey(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.surveys, id)
	delete(a.calls, id)
}

// surveyReply is the reader's. A reply that nobody waits for crossed a Cancel.
func (a *attachment) surveyReply(f *session.SurveyReply) error {
	a.mu.Lock()
	s := a.surveys[f.ID]
	a.mu.Unlock()
	if s != nil && !s.add(f) {
		return fmt.Errorf("client: the relay sends more replies to a survey than asked for")
	}
	return nil
}
