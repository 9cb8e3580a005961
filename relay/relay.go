// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/notice"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/policy"
)

// Relay gives the clients on this machine a share in one node. All methods may
// be called concurrently.
type Relay struct {
	// Immutable after New.
	cfg      Config
	log      *zap.Logger
	count    *counters
	refusals refusals
	outside

	// Lifecycle.
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // acceptors, connections, and what clients do
	// draining ends when members leave, or with Close.
	draining      context.Context
	startDraining context.CancelFunc

	// Guarded by mu.
	mu        sync.Mutex
	state     state
	address   string // of the TCP listener
	listeners []net.Listener
	clients   map[wire.LeafID]*client
	sessionLog

	door   *doorkeeper // of those that have not said Hello yet
	shares shares

	names names
	law   law
}

// sessionLog numbers sessions and remembers those that have ended.
type sessionLog struct {
	ended *crowd.Table[uint64, source, ending] // by session
	last  uint64                               // number of the session that began last
}

// outside is what a relay has of the world, and memory that its sessions share.
type outside struct {
	clock    overlay.Clock
	exec     overlay.Exec
	workers  *overlay.Workers // exec, if it is the relay's own; else nil
	random   overlay.RandStream
	dice     overlay.RandStream // of what need not be secret
	epoch    time.Time          // where the relay's link clock begins
	instance [wire.InstanceSize]byte
	pool     session.Pool
	rounds   *session.Rounds // of its clients' sessions and of the node's links
	bodies   wire.Bodies
	waiting  shelves
	notices  *notice.Watch // what the log says of the relay's numbers
}

// workers bounds the goroutines that do something for clients besides reading
// and writing.
const workers = 1 << 16

func (o *outside) open(s *Seam) {
	if s != nil {
		o.clock, o.exec, o.random, o.dice = s.Clock, s.Exec, s.Rand.Stream("relay.ids"), s.Rand.Stream("relay.dice")
	} else {
		r := overlay.NewRealRand()
		o.workers = overlay.NewWorkers(workers)
		o.clock, o.exec, o.random, o.dice = overlay.NewRealClock(), o.workers, r.Stream("relay.ids"), r.Stream("relay.dice")
	}
	o.epoch = o.clock.Now().Add(-time.Second) // no time on the link clock is 0
	o.random.Read(o.instance[:])              // never fails
}

// state is where in its life a relay is.
type state uint8

const (
	stateNew state = iota
	stateRunning
	stateDraining
	stateClosed
)

// New checks cfg; it starts nothing.
func New(cfg Config) (*Relay, error) {
	if cfg.Node == nil {
		return nil, errors.New("relay: Config.Node is required")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &Relay{
		cfg:     cfg,
		log:     cfg.Logger.Named("relay"),
		clients: map[wire.LeafID]*client{},
		count:   newCounters(),
		shares:  newShares(cfg.Totals, cfg.Limits.Clients),
	}
	r.refusals = newRefusals(&cfg.Limits, &cfg.Totals)
	r.outside.open(cfg.Seam)
	r.rounds = cfg.Node.Rounds()
	r.ended = crowd.NewTable[uint64, source, ending](maxEnded, r.dice.IntN)
	r.door = newDoorkeeper(cfg.Limits.Waiting, r.dice.IntN, r.count)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.draining, r.startDraining = context.WithCancel(r.ctx)
	r.law.policy.Store(cfg.Policy)
	r.notices = newNotices(r)
	return r, nil
}

// Start opens the socket and the loopback address and returns when clients can
// attach. Errors are ErrSocketInUse, ErrUnsafeSocket, ErrNotLoopback,
// patterns.ErrClosed, and the system's. ctx bounds nothing that lasts.
func (r *Relay) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case stateRunning:
		return errors.New("relay: started already")
	case stateDraining, stateClosed:
		return patterns.ErrClosed
	}
	if err := r.listen(); err != nil {
		r.unlisten()
		return err
	}
	r.state = stateRunning
	r.notices.Start()
	for _, l := range r.listeners {
		r.wg.Go(func() { r.accept(l) })
	}
	return nil
}

// listen opens what is configured. The caller holds mu; nobody waits for it
// yet.
func (r *Relay) listen() error {
	if r.cfg.Socket != "" {
		l, err := listenUnix(r.cfg.Socket, r.cfg.sharing())
		if err != nil {
			return err
		}
		r.listeners = append(r.listeners, l)
	}
	if r.cfg.Listen != "" {
		l, err := listenTCP(r.cfg.Listen)
		if err != nil {
			return err
		}
		r.listeners, r.address = append(r.listeners, l), l.Addr().String()
	}
	return nil
}

// unlisten closes what listen opened, which removes the socket, and lets
// another relay have its path. The caller holds mu.
func (r *Relay) unlisten() {
	for _, l := range r.listeners {
		l.Close()
	}
	r.listeners = nil
}

// Addr returns the loopback address that is bound; "" before Start and if none
// was asked for.
func (r *Relay) Addr() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// Shutdown drains. First it waits until no client has a tunnel, for two thirds of the
// time until the end of ctx or until 10 s before it, whichever is later. Meanwhile
// everything works as before, and programs may attach. Then every member leaves its
// cluster, what was accepted is finished, tunnels have another second, and programs that
// attach are told that the relay is shutting down. Calls of clients are answered until
// the last client has finished; then every client is told what was looked at, and the
// relay closes and makes the socket free.
//
// If ctx ends first, it closes at once. The result is ctx's error then, and
// ErrTunnelsCut if all but some tunnels was finished.
func (r *Relay) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	if r.state == stateRunning {
		r.state = stateDraining
	}
	r.mu.Unlock()
	waits, stop := r.beforeLastPart(ctx)
	for _, c := range r.attached() {
		if c.tunnels.hop.Await(waits) != nil {
			break
		}
	}
	stop()
	r.startDraining() // before any member leaves

	var cut atomic.Bool
	clients := r.attached()
	finished := r.all(clients, func(c *client) bool { return c.finish(ctx, &cut) }) &&
		r.all(clients, func(c *client) bool { return c.dismiss(ctx) })
	err := r.Close()
	switch {
	case !finished:
		return errors.Join(ctx.Err(), err)
	case cut.Load():
		return errors.Join(ErrTunnelsCut, err)
	}
	return err
}

// beforeLastPart is ctx that ends earlier, if it ends.
func (r *Relay) beforeLastPart(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ends := ctx.Deadline()
	if !ends {
		return ctx, func() {}
	}
	left := end.Sub(r.clock.Now())
	return r.within(ctx, left-min(lastPart, left/3))
}

// all does something for each client, for all at once, and reports whether each did it.
func (r *Relay) all(clients []*client, do func(*client) bool) bool {
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, c := range clients {
		wg.Add(1)
		ok := r.spawn("relay/drain", c.origin, func() {
			defer wg.Done()
			if !do(c) {
				failed.Store(true)
			}
		})
		if !ok {
			wg.Done()
			failed.Store(true)
		}
	}
	wg.Wait()
	return !failed.Load()
}

// SetPolicy replaces the policy; nil allows everything. It holds for all that clients
// ask from now on. What a client serves or subscribes to and may not any more ends with
// its session: it attaches again, and is refused what it may not. Calls and tunnels that
// are open go on. The error is that of New for such a policy; then nothing changes.
func (r *Relay) SetPolicy(p *policy.Policy) error {
	if err := tokensKnown(p, r.cfg.Tokens); err != nil {
		return err
	}
	r.law.policy.Store(p)
	for _, c := range r.attached() {
		c.claims.obey(p)
	}
	return nil
}

// SetClients changes Limits.Clients, at least 1, while the relay runs. Nobody who is
// attached has to go.
func (r *Relay) SetClients(n int) { r.shares.seats.SetLimit(2 * max(1, n)) }

// Close ends everything at once: clients see a broken connection. It waits for
// all that the relay runs, and is idempotent.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.state = stateClosed
	r.unlisten()
	r.mu.Unlock()

	r.notices.Stop()
	r.door.close()
	for _, c := range r.attached() {
		c.end(errClosed)
	}
	r.cancel()
	r.wg.Wait()
	if r.workers != nil {
		return r.workers.Close()
	}
	return nil
}

// forget takes a client out whose session is over.
func (r *Relay) forget(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unseat(c)
	if c.features&wire.FeatureResume != 0 && !c.conn.broken.Load() {
		r.ended.Put(c.sess.ID(), c.seat.from, ending{c.rights.who, c.conn.instance, c.received})
	}
}

// maxEnded bounds the ended sessions that a relay remembers.
const maxEnded = 4096

// ending is what was received in a session that has ended, and whose it was. All of it
// was published, or is told as missing.
type ending struct {
	who      policy.Client
	instance [wire.InstanceSize]byte
	received wire.Counts
}

// former is what was received in the session that a client asks for, which has ended.
func (r *Relay) former(h *wire.LeafHello, who policy.Client) wire.Counts {
	if h.Session == 0 {
		return wire.Counts{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.ended.Get(h.Session); ok && e.who.Same(who) && e.instance == h.Instance {
		return e.received
	}
	return wire.UnknownCounts()
}

// spawn runs f on a goroutine that Close waits for, unless it can't.
func (r *Relay) spawn(name string, key uint64, f func()) bool {
	r.wg.Add(1)
	ok := r.exec.Go(overlay.ExecKey{Name: name, N: key}, func() {
		defer r.wg.Done()
		f()
	})
	if !ok {
		r.wg.Done()
	}
	return ok
}

// within is context.WithTimeout on the relay's clock.
func (o *outside) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return overlay.WithTimeout(ctx, o.clock, "relay/deadline", d)
}

// names remembers how peer ids are written: it is asked for each message.
type names struct {
	mu sync.RWMutex
	of map[peer.ID]string
}

// maxNames is how many are remembered.
const maxNames = 4096

// name returns how p is written.
func (n *names) name(p peer.ID) string {
	n.mu.RLock()
	name, ok := n.of[p]
	n.mu.RUnlock()
	if ok || p == "" {
		return name
	}
	name = p.String()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil || len(n.of) >= maxNames {
		n.of = map[peer.ID]string{}
	}
	n.of[p] = name
	return name
}

// isDraining reports whether members have begun to leave, for good.
func (r *Relay) isDraining() bool { return r.draining.Err() != nil }

// attached returns the clients there are, in the order in which they came. None comes
// any more once the relay does not run.
func (r *Relay) attached() []*client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.clients), func(a, b *client) int { return cmp.Compare(a.origin, b.origin) })
}
