// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// Client is a program's place at its relay. All methods may be called
// concurrently.
type Client struct {
	// Immutable after New.
	cfg  Config
	log  *zap.Logger
	roll func() float64 // random, in [0, 1); shortens pauses

	// Lifecycle.
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // the loop, sessions, handlers
	kick   chan struct{}  // has an element if a roster wants a look
	out    *outbox        // what is being published
	count  counters       // used concurrently

	// Guarded by mu.
	mu       sync.Mutex
	state    state
	attached *attachment   // nil = the relay is gone
	changed  chan struct{} // closed when attached or state changes
	lastErr  error         // why attached is nil
	nextID   uint64        // of a registration
	regs     map[uint64]*registration
	roster   *roster
	subs     map[uint64]*subscription
	topics   *roster       // of subs
	calls    int           // that have begun and not ended
	idle     chan struct{} // closed when draining and no calls; nil before
}

// state is where in its life a client is.
type state uint8

const (
	stateNew      state = iota
	stateStarting       // within Start
	stateRunning
	stateLeaving  // no new registrations
	stateDraining // no new calls
	stateClosed
)

var _ patterns.Messenger = (*Client)(nil)

// New checks cfg; it starts nothing.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg,
		log:     cfg.Logger.Named("client"),
		roll:    rand.Float64,
		kick:    make(chan struct{}, 1),
		changed: make(chan struct{}),
		regs:    map[uint64]*registration{},
		roster:  newRoster(),
		subs:    map[uint64]*subscription{},
		topics:  newRoster(),
	}
	c.out = newOutbox(c)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Start attaches to the relay. It tries once, until ctx ends or for 3 s; from
// then on the client re-attaches by itself. Errors are ErrNoRelay, ErrVersion,
// ErrToken, ErrUser, ErrTooManyClients, ErrRefused, patterns.ErrClosed, and
// ctx's; after one of them Start may be called again.
func (c *Client) Start(ctx context.Context) error {
	if err := c.become(stateNew, stateStarting); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	a, err := c.dial(ctx, session.ID{})
	if err != nil {
		if closed := c.become(stateStarting, stateNew); closed != nil {
			return closed
		}
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != stateStarting {
		a.conn.Close()
		return patterns.ErrClosed
	}
	c.state = stateRunning
	c.attach(a)
	c.wg.Go(func() { c.loop(a) })
	return nil
}

// become changes the state, or says why it can't.
func (c *Client) become(from, to state) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == from:
		c.state = to
		return nil
	case c.state >= stateLeaving:
		return patterns.ErrClosed
	}
	return errors.New("client: started already")
}

// attach publishes a session. The caller holds mu.
func (c *Client) attach(a *attachment) {
	c.attached = a
	c.endedLocked(c.out.attach(a))
	close(c.changed)
	c.changed = make(chan struct{})
}

// detach withdraws a session that has ended.
func (c *Client) detach(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attached, c.lastErr = nil, err
	close(c.changed)
	c.changed = make(chan struct{})
	c.roster.detached()
	c.topics.detached()
}

// current returns the session, for which it waits up to RelayWait. Errors are
// patterns.ErrUnreachable, patterns.ErrClosed, and a *patterns.DeadlineError;
// nothing was sent.
func (c *Client) current(ctx context.Context) (*attachment, error) {
	var patience <-chan time.Time
	for {
		c.mu.Lock()
		a, changed, state, lastErr := c.attached, c.changed, c.state, c.lastErr
		c.mu.Unlock()
		switch {
		case state == stateClosed:
			return nil, patterns.ErrClosed
		case state < stateRunning:
			return nil, errors.New("client: not started")
		case a != nil && !a.isOver():
			return a, nil
		}
		if patience == nil {
			timer := time.NewTimer(c.cfg.RelayWait)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &patterns.DeadlineError{Cause: cause(ctx)}
		case <-patience:
			return nil, fmt.Errorf("%w: %w: that at %s has not come back within %v (%v)",
				patterns.ErrUnreachable, ErrNoRelay, c.cfg.target(), c.cfg.RelayWait, lastErr)
		}
	}
}

// cause is what ended ctx, as package patterns tells it.
func cause(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// begin counts a call, unless the client is closing.
func (c *Client) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state >= stateDraining {
		return patterns.ErrClosed
	}
	c.calls++
	return nil
}

func (c *Client) end() { c.ended(1) }

// ended is end for so many.
func (c *Client) ended(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endedLocked(n)
}

func (c *Client) endedLocked(n int) {
	c.calls -= n
	if c.calls == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// Status returns what the relay says about itself and its node: one JSON
// object. Without a deadline in ctx it has 5 s.
func (c *Client) Status(ctx context.Context) (json.RawMessage, error) {
	tries := course{idempotent: true}
	f, err := c.ask(ctx, session.KindStatusReply, "", tries, func(id uint64, _ time.Duration) session.Frame {
		return &session.Status{ID: id}
	})
	if err != nil {
		return nil, err
	}
	return f.(*session.StatusReply).JSON, nil
}
