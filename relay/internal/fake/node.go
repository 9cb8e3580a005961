// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/patterns"
)

// Node is a patterns.Messenger. The zero value is ready.
type Node struct {
	// RequestError and ServeError, if not nil, are asked before anything else
	// is done; their errors are returned. Set before use.
	RequestError func(cluster string) error
	ServeError   func(cluster string) error
	// TunnelWindow is the credit of each direction of a tunnel, bytes.
	// Default 64 KiB. Set before use.
	TunnelWindow int

	// PublishError and SubscribeError likewise. The first one may wait, unless
	// it is to try only.
	PublishError   func(ctx context.Context, topic string, try bool) error
	SubscribeError func(pattern string) error

	mu            sync.Mutex
	closed        bool
	lastID        uint64
	turn          int
	members       map[string][]*member // by cluster, in the order of ids
	joined        chan struct{}        // closed when a member joins
	subscriptions []*subscription
	wg            sync.WaitGroup
}

var _ patterns.Messenger = (*Node)(nil)

type member struct {
	node    *Node
	id      string
	cluster string
	handler patterns.Handler
	limits  patterns.Limits
	places  chan struct{} // handlers that run
	waiting int           // messages without a reply that do not; guarded by node.mu
	running int           // goroutines that see to them
	line    []func()      // what they run
	tunnels atomic.Int64  // open
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// Serve implements patterns.Messenger.
func (n *Node) Serve(ctx context.Context, cluster string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error) {
	if n.ServeError != nil {
		if err := n.ServeError(cluster); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, patterns.ErrClosed
	}
	n.lastID++
	limits = limits.WithDefaults()
	m := &member{
		node: n, id: fmt.Sprintf("%016x", n.lastID), cluster: cluster, handler: h,
		limits: limits, places: make(chan struct{}, limits.Concurrency),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if n.members == nil {
		n.members = map[string][]*member{}
	}
	n.members[cluster] = append(n.members[cluster], m)
	if n.joined != nil {
		close(n.joined)
		n.joined = nil
	}
	return m, nil
}

// Limits returns what the cluster's members were registered with.
func (n *Node) Limits(cluster string) []patterns.Limits {
	n.mu.Lock()
	defer n.mu.Unlock()
	var limits []patterns.Limits
	for _, m := range n.members[cluster] {
		limits = append(limits, m.limits)
	}
	return limits
}

// Request implements patterns.Messenger.
func (n *Node) Request(ctx context.Context, cluster string, q patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	o := patterns.CollectOptions(opts)
	var reply patterns.Message
	err := n.attempt(ctx, cluster, o, func(ctx context.Context, m *member) (again bool, err error) {
		reply, err = m.ask(ctx, patterns.PatternRequest, q)
		var refusal *patterns.Refusal
		if !errors.As(err, &refusal) {
			return false, err
		}
		err = refusal.Cause
		if errors.Is(err, patterns.ErrClosed) {
			err = patterns.ErrUnreachable
		}
		return !errors.Is(err, patterns.ErrTooLarge) && (o.Idempotent || !errors.Is(err, patterns.ErrInterrupted)), err
	})
	return reply, err
}

// attempt asks up to three members, one after the other, until one says that it
// is not to be tried again. It returns the last one's error.
func (n *Node) attempt(ctx context.Context, cluster string, o patterns.RequestOptions, ask func(context.Context, *member) (again bool, err error)) error {
	if n.RequestError != nil {
		if err := n.RequestError(cluster); err != nil {
			return err
		}
	}
	ctx, cancel := withDefaultTime(ctx)
	defer cancel()
	err := patterns.ErrNoMembers
	var tried []*member
	for again := true; again && len(tried) < 3; {
		m := n.pick(ctx, cluster, tried, o.WaitForMember)
		if m == nil {
			return err
		}
		tried = append(tried, m)
		if o.Report != nil {
			*o.Report = patterns.RequestReport{Member: m.id, Attempts: len(tried)}
		}
		again, err = ask(ctx, m)
	}
	return err
}

// pick returns the next member that was not tried; it may wait for a first one.
func (n *Node) pick(ctx context.Context, cluster string, tried []*member, wait bool) *member {
	for {
		n.mu.Lock()
		all := n.members[cluster]
		n.turn++
		for i := range all {
			if m := all[(n.turn+i)%len(all)]; !slices.Contains(tried, m) {
				m.wg.Add(1)
				n.mu.Unlock()
				return m
			}
		}
		if n.joined == nil {
			n.joined = make(chan struct{})
		}
		joined := n.joined
		n.mu.Unlock()
		if !wait {
			return nil
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return nil
		}
	}
}

// ask runs the handler; pick has counted it.
func (m *member) ask(ctx context.Context, pattern patterns.Pattern, q patterns.Message) (patterns.Message, error) {
	type result struct {
		reply patterns.Message
		err   error
	}
	select {
	case m.places <- struct{}{}:
	case <-ctx.Done():
		m.wg.Done()
		return patterns.Message{}, late(ctx, false)
	}
	results := make(chan result, 1)
	deadline, _ := ctx.Deadline()
	handlerCtx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	m.node.wg.Go(func() {
		defer m.wg.Done()
		defer cancel()
		defer stop()
		reply, err := m.handler.ServeRequest(handlerCtx, &patterns.Request{
			Cluster: m.cluster, From: "peer", Pattern: pattern, Deadline: deadline,
			Headers: slices.Clone(q.Headers), Body: slices.Clone(q.Body),
		})
		<-m.places
		results <- result{reply, err}
	})
	select {
	case r := <-results:
		var refusal *patterns.Refusal
		var remote *patterns.RemoteError
		switch {
		case r.err == nil || errors.As(r.err, &refusal):
			return r.reply, r.err
		case errors.As(r.err, &remote):
			return r.reply, &patterns.RemoteError{Cluster: m.cluster, Code: remote.Code, Message: remote.Message}
		}
		return r.reply, &patterns.RemoteError{Cluster: m.cluster, Message: r.err.Error()}
	case <-ctx.Done():
		return patterns.Message{}, late(ctx, true)
	}
}

func late(ctx context.Context, ran bool) error {
	return &patterns.DeadlineError{Cause: ctx.Err(), MaybeRan: ran}
}

// Members implements patterns.Messenger.
func (n *Node) Members(_ context.Context, cluster string) ([]patterns.Member, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var members []patterns.Member
	for _, m := range n.members[cluster] {
		members = append(members, patterns.Member{
			ID: m.id, Peer: "peer", Incarnation: 7, Zone: "z", Capacity: m.limits.Capacity, State: "live",
		})
	}
	if members == nil {
		return nil, patterns.ErrNoMembers
	}
	return members, nil
}

// Member implements patterns.Registration.
func (m *member) Member() string { return m.id }

// Close implements patterns.Registration.
func (m *member) Close(ctx context.Context) error {
	n := m.node
	n.mu.Lock()
	n.members[m.cluster] = slices.DeleteFunc(n.members[m.cluster], func(x *member) bool { return x == m })
	n.mu.Unlock()
	defer m.cancel()
	done := make(chan struct{})
	n.wg.Go(func() { m.wg.Wait(); close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shutdown implements patterns.Messenger.
func (n *Node) Shutdown(context.Context) error { return n.Close() }

// Close implements patterns.Messenger: it waits for handlers, which it cancels.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	for _, members := range n.members {
		for _, m := range members {
			m.cancel()
		}
	}
	n.mu.Unlock()
	n.wg.Wait()
	return nil
}
