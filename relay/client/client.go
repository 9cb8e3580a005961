// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/push"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/survey"
	"github.com/arke-mesh/arke/patterns/tunnel"
)

// Client is a program's place at its relay. All methods may be called
// concurrently.
type Client struct {
	// Immutable after New.
	log        *zap.Logger
	workers    *overlay.Workers // of handlers and subscribers; nil = somebody else's
	link       *link
	attacher   *attacher
	claims     *claims
	topics     *topics
	inboxes    *inbox.Set
	publisher  *publisher
	requests   *request.Engine
	surveys    *survey.Engine
	pushes     *push.Engine
	broadcasts *broadcast.Engine
	tunnels    *tunnel.Engine

	calls   *gate // who calls something now
	started atomic.Bool
	lastID  atomic.Uint64 // of registrations, subscriptions and confirmed publications

	mu    sync.Mutex
	state state                    // guarded by mu
	regs  map[uint64]*registration // guarded by mu
}

// state is where in its life a client is.
type state uint8

const (
	stateNew state = iota
	stateStarting
	stateRunning
	stateLeaving // takes no registrations and subscriptions
	stateClosed
)

// maxWorkers bounds the handlers and subscribers that run at once. The handlers of tunnels
// have half of it: as many as a member accepts tunnels, and a relay allows a client.
const (
	maxWorkers = 32768
	maxTunnels = maxWorkers / 2
)

var _ patterns.Messenger = (*Client)(nil)

// New checks cfg; it starts nothing.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	seam := Seam{Clock: overlay.NewRealClock(), Rand: overlay.NewRealRand()}
	var workers *overlay.Workers
	if cfg.Seam != nil {
		seam = *cfg.Seam
	} else {
		workers = overlay.NewWorkers(maxWorkers)
		seam.Exec = workers
	}
	c := &Client{
		log:     cfg.Logger.Named("client"),
		workers: workers,
		link:    newLink(cfg, seam),
		calls:   newGate(),
		regs:    map[uint64]*registration{},
	}
	c.attacher = newAttacher(c.link, c.log)
	c.claims = newClaims(c.link, c.log)
	c.topics = newTopics(c.link)
	c.publisher = newPublisher(c.link, cfg.Refused)
	c.attacher.began = c.publisher.began
	c.attacher.attached = func() { c.claims.attached() }
	c.attacher.ended = func(s *session.Session, gone bool) {
		c.publisher.ended(s, gone)
		c.claims.detached()
	}
	c.link.listen(wire.KindDone, c.handleDone)
	return c, c.assemble()
}

// handleDone takes in what the relay says about what it was asked for.
func (c *Client) handleDone(frame []byte) (kept bool) {
	d, err := wire.DecodeDone(frame)
	if err == nil && (d.ID == 0 || !c.claims.answered(d)) {
		c.publisher.answered(d)
	}
	return false
}

// assemble makes the engines, which are those of a node, over the one link.
func (c *Client) assemble() (err error) {
	clock, exec := c.link.clock, c.link.exec
	if c.inboxes, err = inbox.NewSet(inbox.SetConfig{Exec: exec, Clock: clock, Workers: maxWorkers / 4, Logger: c.log}); err != nil {
		return err
	}
	if c.tunnels, err = tunnel.New(tunnel.Config{
		Links: c.link, Clock: clock, Exec: exec, MaxHandlers: maxTunnels, Logger: c.log,
		Ask: func(ctx context.Context, a request.Ask) (request.Answer, error) { return c.requests.Ask(ctx, a) },
	}); err != nil {
		return err
	}
	if c.requests, err = request.New(request.Config{
		Links: c.link, Leaf: &request.Leaf{Relay: relayID}, Clock: clock, Exec: exec, Bell: c.workers != nil, Acceptor: c.tunnels, Logger: c.log,
	}); err != nil {
		return err
	}
	c.surveys, c.pushes, c.broadcasts = survey.New(c.requests), push.New(c.requests), broadcast.New(c.requests)
	return nil
}

// Start attaches to the relay. It tries until ctx ends, or for 5 s if ctx has no
// deadline; from then on the client re-attaches by itself. Errors are ErrNoRelay,
// ErrVersion, ErrToken, ErrUser, ErrOwner, ErrTooManyClients, ErrRefused,
// patterns.ErrClosed, and context.Canceled; after one of them Start may be called
// again.
func (c *Client) Start(ctx context.Context) error {
	if err := c.become(stateNew, stateStarting); err != nil {
		return err
	}
	ctx, cancel := c.link.limited(ctx)
	defer cancel()
	if err := c.attacher.start(ctx); err != nil {
		if closed := c.become(stateStarting, stateNew); closed != nil {
			return closed
		}
		return err
	}
	c.started.Store(true)
	return c.become(stateStarting, stateRunning)
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

// takes says why nothing can be registered, if so. The caller holds mu.
func (c *Client) takes() error {
	switch {
	case c.state >= stateLeaving:
		return patterns.ErrClosed
	case c.state < stateRunning:
		return errNotStarted
	}
	return nil
}

// begin counts a call, which leaves calls when it has ended, unless the client
// is closing.
func (c *Client) begin() error {
	if !c.started.Load() {
		return errNotStarted
	}
	if !c.calls.enter() {
		return patterns.ErrClosed
	}
	return nil
}

func (c *Client) nextID() uint64 { return c.lastID.Add(1) }

// Status returns what the relay says about itself and its node: one JSON
// object. Without a deadline in ctx it has 5 s.
func (c *Client) Status(ctx context.Context) (json.RawMessage, error) {
	m, err := c.Request(ctx, statusCluster, patterns.Message{}, patterns.Idempotent())
	return m.Body, err
}

// Names returns what people call the nodes of these peer ids, of those that the
// relay's node knows by name: any text, to be escaped. At most 1,024 are named.
// Without a deadline in ctx it has 5 s.
func Names(ctx context.Context, c *Client, peers ...string) (map[string]string, error) {
	m, err := c.Request(ctx, namesCluster, patterns.Message{Body: []byte(strings.Join(peers, "\n"))}, patterns.Idempotent())
	if err != nil {
		return nil, err
	}
	var names map[string]string
	if err := json.Unmarshal(m.Body, &names); err != nil {
		return nil, fmt.Errorf("client: the relay's names of nodes: %w", err)
	}
	return names, nil
}

// Drops counts what the client itself has refused or lost, by "thing.reason",
// since New; what never occurred is not in it. What the relay and its node refuse
// is in Status.
func (c *Client) Drops() map[string]uint64 { return c.publisher.drops.ByName() }

// Shutdown implements patterns.Messenger. Calls can be made until the members
// have drained, since their handlers may need them. What was published has been
// taken by the relay when it returns nil.
func (c *Client) Shutdown(ctx context.Context) error {
	errs := c.leave(ctx)
	idle := c.calls.close()
	errs = append(errs, c.tunnels.Drain(ctx))
	select {
	case <-idle:
	case <-ctx.Done():
		errs = append(errs, ctx.Err())
	}
	errs = append(errs, c.publisher.flush(ctx))
	return errors.Join(cmp.Or(errs...), c.Close()) // not the same error once for each member
}

// leave refuses new registrations and subscriptions, and ends those there are.
func (c *Client) leave(ctx context.Context) []error {
	c.mu.Lock()
	c.state = max(c.state, stateLeaving)
	regs := inOrder(c.regs)
	c.mu.Unlock()
	ends := make([]func(context.Context) error, 0, len(regs))
	for _, r := range regs {
		ends = append(ends, r.Close)
	}
	for _, s := range c.topics.all() {
		ends = append(ends, s.Close)
	}
	errs := make([]error, len(ends))
	var wg sync.WaitGroup
	for i, end := range ends {
		wg.Add(1)
		ok := c.link.exec.Go(overlay.ExecKey{Name: "client/leave"}, func() {
			defer wg.Done()
			errs[i] = end(ctx)
		})
		if !ok {
			wg.Done()
			errs[i] = patterns.ErrOverloaded
		}
	}
	wg.Wait()
	return errs
}

// inOrder returns what a map has by id, in the order of the ids.
func inOrder[T any](all map[uint64]T) []T {
	list := make([]T, 0, len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[id])
	}
	return list
}

// closeTime is how long Close waits for the relay to take what was published.
const closeTime = 200 * time.Millisecond

// Close implements patterns.Messenger. Calls that wait get
// patterns.ErrInterrupted if they may have reached a handler, else
// patterns.ErrClosed. It waits for handlers and subscribers to return; the
// handlers' contexts end. Its error says, once, how many messages that Publish
// took may not have been published: it is patterns.ErrInterrupted.
func (c *Client) Close() error {
	c.mu.Lock()
	first := c.state != stateClosed
	c.state = stateClosed
	c.mu.Unlock()
	c.calls.close()
	if first && c.started.Load() {
		ctx, cancel := overlay.WithTimeout(context.Background(), c.link.clock, "client/close", closeTime)
		_ = c.publisher.flush(ctx) // what is lost is told below
		cancel()
	}
	c.attacher.close()
	c.claims.stop()
	c.tunnels.Stop() // handlers of requests may wait for one, and those of tunnels for a request
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range c.topics.all() {
		_ = s.inbox.Close(ended)
	}
	c.inboxes.Close()
	err := errors.Join(c.publisher.close(), c.requests.Close(), c.tunnels.Close())
	if c.workers != nil {
		err = errors.Join(err, c.workers.Close())
	}
	return err
}
