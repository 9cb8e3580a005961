// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// FrameHandler handles one frame or reassembled message of link l. It runs on
// the goroutine that reads the link, in the order of arrival, and must not
// block for long: nothing else is read from the peer meanwhile. It owns body.
type FrameHandler func(l *Link, body []byte)

// LentHandler is a FrameHandler that says whether it keeps body. If it does
// not, the next frame may come in it.
type LentHandler func(l *Link, body []byte) (kept bool)

// Overlay is this node's place in the network: its links to other nodes and
// the search for them. All methods may be called concurrently.
type Overlay struct {
	// Immutable after New.
	cfg       Config
	self      peer.ID
	transport Transport
	clock     Clock
	rand      RandStream
	log       *zap.Logger
	epoch     time.Time  // where the link clock begins
	instance  instanceID // of this start
	loopback  *Link
	search    *search

	// Immutable after Start.
	handlers    [256]LentHandler
	subscribers []func(PeerEvent)

	// Used concurrently.
	drops     drops
	traffic   traffic
	chunks    session.Pool
	bodies    wire.Bodies
	sessions  atomic.Uint64
	lastStamp atomic.Uint64
	callers   atomic.Int32 // incoming streams that have not joined

	// Guarded by mu.
	mu     sync.RWMutex
	links  map[peer.ID]*Link
	lookAt int // size of links at which to look for those to forget

	// Lifecycle.
	ctx      context.Context //nolint:containedctx // the run context: ends in Close
	cancel   context.CancelCauseFunc
	gate     gate
	started  atomic.Bool
	departed atomic.Bool // Shutdown or Close has begun
	closing  sync.Once
	closeErr error
}

// New checks cfg and prepares an overlay. It starts nothing.
func New(cfg Config) (*Overlay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	o := &Overlay{
		cfg:       cfg,
		self:      cfg.Seam.Transport.Self(),
		transport: cfg.Seam.Transport,
		clock:     cfg.Seam.Clock,
		rand:      cfg.Seam.Rand.Stream("overlay"),
		log:       cfg.Logger.Named("overlay"),
		epoch:     cfg.Seam.Clock.Now().Add(-1), // so that 0 is never a time
		links:     make(map[peer.ID]*Link),
		lookAt:    minLinks,
	}
	o.ctx, o.cancel = context.WithCancelCause(context.Background())
	o.rand.Read(o.instance[:]) // never fails
	o.loopback = newLoopback(o)
	o.search = newSearch(o)
	return o, nil
}

// Start begins to accept links and to look for peers. ctx bounds only Start
// itself. From then on the overlay owns the transport: Close closes it.
func (o *Overlay) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.leaving() {
		return ErrClosed
	}
	if o.started.Swap(true) {
		panic("BUG: overlay started twice")
	}
	if err := o.transport.Start(inbox{o}); err != nil {
		return err
	}
	o.gate.spawn(o.serveLoopback)
	o.search.start()
	return nil
}

// Self is this node's peer id.
func (o *Overlay) Self() peer.ID { return o.self }

// Addrs lists the multiaddrs others can reach this node at. The caller owns
// the slice.
func (o *Overlay) Addrs() []string { return o.transport.Addrs() }

// Router knows who is close to a key.
func (o *Overlay) Router() Router { return o.cfg.Seam.Router }

// Seam returns what the overlay was built on.
func (o *Overlay) Seam() Seam { return o.cfg.Seam }

// AddCandidate names a node that might be reached. It never blocks; of too
// many candidates, old ones are forgotten, and counted.
func (o *Overlay) AddCandidate(c Candidate) { o.search.add(c) }

// Handle sets the handler for frames of kind k. Only before Start, once per
// kind.
func (o *Overlay) Handle(k wire.Kind, h FrameHandler) {
	o.HandleLent(k, func(l *Link, body []byte) bool {
		h(l, body)
		return true
	})
}

// HandleLent is Handle for what is often refused: that then costs no memory.
func (o *Overlay) HandleLent(k wire.Kind, h LentHandler) {
	if o.started.Load() || o.handlers[k] != nil || k <= wire.KindVoid {
		panic("BUG: Handle after Start, or twice for one kind, or for a kind of the overlay")
	}
	o.handlers[k] = h
}

// Subscribe has f called for each event of each link but the one to this node
// itself. f must not block, and must not wait for another event of the same
// link. Only before Start.
func (o *Overlay) Subscribe(f func(PeerEvent)) {
	if o.started.Load() {
		panic("BUG: Subscribe after Start")
	}
	o.subscribers = append(o.subscribers, f)
}

// publish tells the subscribers, and the parts of the overlay that care.
func (o *Overlay) publish(e PeerEvent) {
	o.log.Debug("link event", zap.Stringer("event", e.Type), zap.Stringer("peer", e.Peer),
		zap.Uint64("session", e.Session), zap.Error(e.Err))
	if e.Type == LinkUp {
		o.search.met(e.Link)
	}
	for _, f := range o.subscribers {
		f(e)
	}
}

// Drops counts what was dropped, by reason; reasons that never occurred are
// left out.
func (o *Overlay) Drops() map[string]uint64 { return o.drops.counts() }

// LinkTime expresses t on this node's link clock: nanoseconds since the
// overlay was made, at least 1, so that 0 can mean none. It is what goes on
// the wire.
func (o *Overlay) LinkTime(t time.Time) uint64 { return uint64(max(1, t.Sub(o.epoch))) }

func (o *Overlay) now() uint64 { return o.LinkTime(o.clock.Now()) }

// stamp is the link clock for a Hello or a question: now, but later than every
// stamp before.
func (o *Overlay) stamp() uint64 {
	for {
		last := o.lastStamp.Load()
		next := max(o.now(), last+1)
		if o.lastStamp.CompareAndSwap(last, next) {
			return next
		}
	}
}

func (o *Overlay) nextSession() uint64 { return o.sessions.Add(1) }

// wake runs f, which signals a goroutine, by the seam's rules.
func (o *Overlay) wake(name string, n uint64, f func()) {
	o.cfg.Seam.Exec.Wake(ExecKey{Name: name, N: n}, f)
}

// after runs f after d, unless the overlay closes first; Close waits for f.
func (o *Overlay) after(label string, d time.Duration, f func()) Timer {
	return o.clock.AfterFunc(label, d, func() {
		if o.gate.enter() {
			defer o.gate.leave()
			f()
		}
	})
}
