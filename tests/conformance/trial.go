// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
)

// trial is one check of one pattern.
type trial struct {
	*testing.T
	Place
	face face
	to   string // a name of its own
}

// context returns one that is long enough for everything.
func (t *trial) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// receiver takes what is sent to the trial's name.
func (t *trial) receiver(open bool, l limits) *receiver {
	t.Helper()
	r := newReceiver(open)
	c, err := t.face.receive(t.context(), t.Member, t.to, r, l)
	require.NoError(t, err)
	r.closer = c
	t.Cleanup(func() {
		r.open()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	t.isListed()
	if t.Border && t.face.promise.topics {
		t.isKnown(t.Member)
	}
	return r
}

// isListed waits until the caller knows of the trial's member: a call waits two
// seconds for that, which a busy machine may need more than. Topics have none.
func (t *trial) isListed() {
	t.Helper()
	if t.face.promise.topics {
		return
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all, err := t.Caller.Members(t.context(), t.to)
		require.NoError(c, err)
		require.Len(c, all, 1)
	}, patience, tick)
}

// send sends from the caller.
func (t *trial) send(ctx context.Context, m arke.Message) error {
	return t.face.send(ctx, t.Caller, t.to, m)
}

// isKnown waits until the caller knows of m, which has only just joined: the
// anchors that are older than it may not have heard of it when its registration
// or subscription is acknowledged.
func (t *trial) isKnown(m *arke.Conn) {
	t.Helper()
	if !t.face.promise.topics {
		t.isListed()
		return
	}
	heard := make(chan struct{}, 1)
	s, err := m.SubscribeFunc(t.context(), t.to+".probe.*", func(arke.Publication) {
		select {
		case heard <- struct{}{}:
		default: // many may come at once
		}
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		// With programs coming and going nobody may know who is there.
		_ = t.Caller.Publish(t.context(), t.to+".probe.x", arke.Message{})
		return len(heard) > 0
	}, patience, little)
	require.NoError(t, s.Close(t.context()))
}

// sending sends in the background.
func (t *trial) sending(ctx context.Context, m arke.Message) (outcome chan error) {
	c := make(chan error, 1)
	go func() { c <- t.send(ctx, m) }()
	return c
}

// await returns what comes from c.
func await[T any](t *trial, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-t.context().Done():
		require.FailNow(t, "nothing came")
	}
	return v
}

// comes waits until the receiver has the message that is being sent.
func (t *trial) comes(r *receiver, outcome chan error) {
	t.Helper()
	select {
	case <-r.entered:
	case err := <-outcome:
		require.NoError(t, err)
		outcome <- err
		await(t, r.entered)
	case <-t.context().Done():
		require.FailNow(t, "it has not come")
	}
}

// quiet checks that nothing comes to the receiver.
func (t *trial) quiet(r *receiver) {
	t.Helper()
	select {
	case m := <-r.entered:
		require.FailNow(t, "a handler ran", "%d bytes, headers %v", len(m.Body), m.Headers)
	case <-time.After(little):
	}
}

// isDone waits until the receiver is done with n messages.
func (t *trial) isDone(r *receiver, n int) {
	t.Helper()
	require.Eventually(t, func() bool { got, _ := r.done(); return got >= n }, patience, tick)
}

// same says how two messages differ.
func same(want, got arke.Message) error {
	if !bytes.Equal(want.Body, got.Body) {
		return fmt.Errorf("the body has %d bytes, and not the %d that were sent", len(got.Body), len(want.Body))
	}
	if len(want.Headers)+len(got.Headers) > 0 && !slices.Equal(want.Headers, got.Headers) {
		return fmt.Errorf("the headers are %v, and not %v", got.Headers, want.Headers)
	}
	return nil
}

// whole returns the outcome of what goes to every member, where there is one.
// Whether the list of members was known to be whole depends on how long the
// network has been quiet.
func whole(took int, missing []arke.Missing, complete bool) error {
	switch {
	case complete && len(missing) > 0:
		return fmt.Errorf("it is complete, and somebody is missing: %w", missing[0].Err)
	case len(missing) > 0:
		return missing[0].Err
	case took != 1:
		return fmt.Errorf("%d members took it, and there is one", took)
	}
	return nil
}

func sameError(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}

// receiver is what a check has at the other end: it writes down each message,
// and is done with it when the gate is open.
type receiver struct {
	closer // its registration or subscription, if a trial has made it

	gate    chan struct{}     // closed = open
	entered chan arke.Message // each message, when it comes
	panics  atomic.Bool       // the next one

	once sync.Once

	mu   sync.Mutex
	got  []arke.Message // guarded by mu; those that it is done with
	gaps []arke.Gap     // guarded by mu
}

// newReceiver returns one whose gate is open, or shut.
func newReceiver(open bool) *receiver {
	r := &receiver{gate: make(chan struct{}), entered: make(chan arke.Message, 64)}
	if open {
		r.open()
	}
	return r
}

func (r *receiver) open() { r.once.Do(func() { close(r.gate) }) }

// take is called by the handlers of all arke.
func (r *receiver) take(ctx context.Context, m arke.Message) {
	r.entered <- m
	if r.panics.Swap(false) {
		panic("a handler that fails")
	}
	select {
	case <-r.gate:
	case <-ctx.Done():
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
}

// done returns how many messages it is done with, and the gaps.
func (r *receiver) done() (n int, gaps []arke.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got), r.gaps
}

// hear takes what is published.
func (r *receiver) hear(p arke.Publication) {
	r.take(context.Background(), arke.Message{Headers: p.Headers, Body: p.Body})
}

// miss is told where something is missing.
func (r *receiver) miss(g arke.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, g)
}
