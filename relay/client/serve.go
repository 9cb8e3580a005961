// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// registration is one member, over all sessions.
type registration struct {
	// Immutable after Serve began.
	client  *Client
	id      uint64
	cluster string
	handler patterns.Handler
	limits  patterns.Limits

	// Guarded by client.mu.
	member  string // of the latest session
	closing bool   // Close has begun

	closed   chan struct{} // closed when Close is done
	closeErr error         // set before closed is
}

var _ patterns.Registration = (*registration)(nil)

// Serve implements patterns.Messenger. While the relay is gone it waits for it
// as a Request does. A relay that comes back gets the registration by itself,
// and the member a new id.
func (c *Client) Serve(ctx context.Context, cluster string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error) {
	if h == nil {
		return nil, errors.New("client: Serve needs a handler")
	}
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	if err := checkLimits(limits); err != nil {
		return nil, err
	}
	r, err := c.addRegistration(cluster, h, limits)
	if err != nil {
		return nil, err
	}
	if err := c.stand(ctx, func(a *attachment) error { return a.registerFirst(ctx, r) }); err != nil {
		c.removeRegistration(r)
		return nil, err
	}
	return r, nil
}

func checkLimits(l patterns.Limits) error {
	for _, v := range []int{l.Concurrency, l.QueueBytes, l.MessageBytes, l.Capacity} {
		if v < 0 || v > 1<<31-1 {
			return fmt.Errorf("client: limit %d is out of range", v)
		}
	}
	return nil
}

func (c *Client) addRegistration(cluster string, h patterns.Handler, limits patterns.Limits) (*registration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state >= stateLeaving {
		return nil, patterns.ErrClosed
	}
	c.nextID++
	r := &registration{
		client: c, id: c.nextID, cluster: cluster, handler: h, limits: limits,
		closed: make(chan struct{}),
	}
	c.regs[r.id] = r
	return r, nil
}

func (c *Client) removeRegistration(r *registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.regs, r.id)
	c.roster.remove(r.id)
}

// registerFirst registers r for the first time and puts it on the roster.
func (a *attachment) registerFirst(ctx context.Context, r *registration) error {
	member, err := a.registerOne(ctx, r)
	if err != nil {
		return err
	}
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.closing {
		return patterns.ErrClosed
	}
	r.member = member
	c.roster.add(r.id, c.attached == a)
	c.kickRoster()
	return nil
}

// registerOne asks the relay for r and returns the member's id.
func (a *attachment) registerOne(ctx context.Context, r *registration) (member string, err error) {
	f, err := a.establish(ctx, a.regCalls, r.id,
		func() error { return a.sendRegister(ctx, r) },
		&session.Unregister{ID: r.id, Timeout: 1})
	if err != nil {
		return "", err
	}
	switch f := f.(type) {
	case *session.Registered:
		return f.Member, nil
	case *session.RegisterFailed:
		return "", failure.Error(f.Failure, r.cluster)
	}
	panic("BUG: no answer to a register: " + f.Kind().String())
}

// sendRegister queues the frame, unless r is closing. It holds the client's mu
// so that no Unregister overtakes it: the member would stay.
func (a *attachment) sendRegister(ctx context.Context, r *registration) error {
	f := &session.Register{
		ID:           r.id,
		Timeout:      remaining(ctx),
		Concurrency:  uint32(r.limits.Concurrency),
		QueueLength:  int32(max(r.limits.QueueLength, -1)),
		QueueBytes:   uint32(r.limits.QueueBytes),
		MessageBytes: uint32(r.limits.MessageBytes),
		Capacity:     uint32(r.limits.Capacity),
		Tunnels:      int32(min(max(r.limits.Tunnels, -1), 1<<31-1)),
		Patterns:     r.patterns(),
		Cluster:      r.cluster,
	}
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.closing {
		return patterns.ErrClosed
	}
	if err := a.sender.SendReserved(f); err != nil {
		return errNotSent
	}
	return nil
}

// Member implements patterns.Registration. After the client has re-attached it
// is another one.
func (r *registration) Member() string {
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	return r.member
}

// Close implements patterns.Registration.
func (r *registration) Close(ctx context.Context) error {
	c := r.client
	c.mu.Lock()
	first, a := !r.closing, c.attached
	r.closing = true
	c.roster.remove(r.id) // it does not come back
	c.mu.Unlock()
	if first {
		if a != nil { // else the member went with the relay
			r.closeErr = a.unregister(ctx, r)
		}
		c.removeRegistration(r) // what was accepted was delivered until now
		close(r.closed)
	}
	select {
	case <-r.closed:
		return r.closeErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unregister has the relay drain the member and waits for it.
func (a *attachment) unregister(ctx context.Context, r *registration) error {
	reply, err := a.withdraw(ctx, a.unregisters, r.id, &session.Unregister{ID: r.id, Timeout: remaining(ctx)})
	if reply == nil {
		return err
	}
	return failure.Error(reply.(*session.Unregistered).Failure, r.cluster)
}

func (c *Client) kickRoster() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// registerAgain makes the registrations that the roster asks for, until the
// session ends.
func (a *attachment) registerAgain() {
	c := a.client
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.kick:
		case <-a.ctx.Done():
			return
		}
		if next := a.askRoster(); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// askRoster begins what is due and returns when to look again.
func (a *attachment) askRoster() (next time.Time) {
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached != a {
		return time.Time{}
	}
	now := time.Now()
	ids, next := c.topics.ask(now)
	for _, id := range ids {
		if s := c.subs[id]; s != nil {
			a.wg.Go(func() { a.subscribeOnce(s) })
		}
	}
	ids, nextReg := c.roster.ask(now)
	if next.IsZero() || !nextReg.IsZero() && nextReg.Before(next) {
		next = nextReg
	}
	for _, id := range ids {
		if r := c.regs[id]; r != nil {
			a.wg.Go(func() { a.registerOnce(r) })
		}
	}
	return next
}

func (a *attachment) registerOnce(r *registration) {
	member, err := a.registerOne(a.ctx, r)
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached != a {
		return // the roster has forgotten that it asked
	}
	if err != nil {
		c.log.Warn("can't register again yet", zap.String("cluster", r.cluster), zap.Error(err))
		c.roster.failed(r.id, time.Now(), c.roll())
		c.kickRoster()
		return
	}
	if c.roster.registered(r.id) {
		r.member = member
		c.log.Info("registered again", zap.String("cluster", r.cluster))
	}
}
