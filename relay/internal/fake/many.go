// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// Survey implements patterns.Messenger.
func (n *Node) Survey(ctx context.Context, cluster string, q patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	ctx, cancel := withDefaultTime(ctx)
	defer cancel()
	members, err := n.everybody(cluster)
	if err != nil {
		return patterns.SurveyResult{}, err
	}
	type answer struct {
		member *member
		reply  patterns.Message
		err    error
	}
	o = o.WithDefaults()
	answers := make(chan answer, len(members))
	result := patterns.SurveyResult{}
	missing := func(m *member, err error) {
		result.Missing = append(result.Missing, patterns.Missing{Member: m.id, Peer: "peer", Err: err})
	}
	asked := 0
	for _, m := range members {
		if asked == o.MaxReplies {
			m.wg.Done()
			missing(m, patterns.ErrTooLarge)
			continue
		}
		asked++
		n.wg.Go(func() {
			reply, err := m.ask(ctx, patterns.PatternSurvey, q)
			answers <- answer{m, reply, err}
		})
	}
	bytes := 0
	for range asked {
		a := <-answers
		var remote *patterns.RemoteError
		if a.err != nil && !errors.As(a.err, &remote) {
			missing(a.member, unwrapRefusal(a.err))
			continue
		}
		if bytes += len(a.reply.Body); bytes > o.MaxBytes {
			missing(a.member, patterns.ErrTooLarge)
			continue
		}
		result.Replies++
		if err := each(patterns.SurveyReply{Member: a.member.id, Peer: "peer", Message: a.reply, Err: a.err}); err != nil {
			return result, err
		}
	}
	sortMissing(result.Missing)
	result.Complete = len(result.Missing) == 0
	return result, nil
}

// Broadcast implements patterns.Messenger.
func (n *Node) Broadcast(ctx context.Context, cluster string, q patterns.Message) (patterns.BroadcastResult, error) {
	members, err := n.everybody(cluster)
	if err != nil {
		return patterns.BroadcastResult{}, err
	}
	result := patterns.BroadcastResult{}
	for _, m := range members {
		if err := m.take(patterns.PatternBroadcast, q); err != nil {
			result.Missing = append(result.Missing, patterns.Missing{Member: m.id, Peer: "peer", Err: err})
			continue
		}
		result.Members++
		result.Nodes = 1
	}
	result.Complete = len(result.Missing) == 0
	return result, nil
}

// Push implements patterns.Messenger.
func (n *Node) Push(ctx context.Context, cluster string, q patterns.Message, opts ...patterns.RequestOption) error {
	return n.attempt(ctx, cluster, patterns.CollectOptions(opts), func(_ context.Context, m *member) (again bool, err error) {
		err = m.take(patterns.PatternPush, q)
		return errors.Is(err, patterns.ErrOverloaded), err
	})
}

func withDefaultTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, 5*time.Second)
}

func unwrapRefusal(err error) error {
	var refusal *patterns.Refusal
	if errors.As(err, &refusal) {
		return refusal.Cause
	}
	return err
}

func sortMissing(list []patterns.Missing) {
	slices.SortFunc(list, func(a, b patterns.Missing) int { return strings.Compare(a.Member, b.Member) })
}

// everybody returns the members, each counted as by pick.
func (n *Node) everybody(cluster string) ([]*member, error) {
	if n.RequestError != nil {
		if err := n.RequestError(cluster); err != nil {
			return nil, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, patterns.ErrClosed
	}
	members := slices.Clone(n.members[cluster])
	if len(members) == 0 {
		return nil, patterns.ErrNoMembers
	}
	for _, m := range members {
		m.wg.Add(1)
	}
	return members, nil
}

// take puts a message without a reply into the member's queue; pick or
// everybody has counted it.
func (m *member) take(pattern patterns.Pattern, q patterns.Message) error {
	service := patterns.ServiceOf(m.handler)
	run := service.Push
	if pattern == patterns.PatternBroadcast {
		run = service.Broadcast
	}
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case run == nil:
		m.wg.Done()
		return &patterns.RemoteError{Cluster: m.cluster, Code: patterns.CodeNoMethod, Message: "not implemented here"}
	case m.waiting >= m.limits.QueueLength && m.running >= m.limits.Concurrency:
		m.wg.Done()
		return patterns.ErrOverloaded
	}
	r := &patterns.Request{
		Cluster: m.cluster, From: "peer", Pattern: pattern,
		Headers: slices.Clone(q.Headers), Body: slices.Clone(q.Body),
	}
	m.waiting++
	m.line = append(m.line, func() {
		defer m.wg.Done()
		m.places <- struct{}{}
		run(m.ctx, r)
		<-m.places
	})
	if m.running < m.limits.Concurrency {
		m.running++
		n.wg.Go(m.work)
	}
	return nil
}

// work runs what take has queued, in order, until nothing is left.
func (m *member) work() {
	n := m.node
	for {
		n.mu.Lock()
		if len(m.line) == 0 {
			m.running--
			n.mu.Unlock()
			return
		}
		next := m.line[0]
		m.line = m.line[1:]
		m.waiting--
		n.mu.Unlock()
		next()
	}
}
