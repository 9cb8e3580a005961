// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/drop"
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
	*base
	links    linkTable
	loopback *Link
	search   *search
	clocks   *clockWatch
	board    *Board
	spares   spares
	*renewal
	exclusion
	callers *callers
	// uncertified logs about all peers that call and have shown no certificate.
	uncertified noticeLog

	// Immutable after Start.
	handlers    [256]LentHandler
	subscribers []func(PeerEvent)

	// Lifecycle.
	started  atomic.Bool
	closing  sync.Once
	closeErr error
}

// New checks cfg and prepares an overlay. It starts nothing.
func New(cfg Config) (*Overlay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	o := &Overlay{base: &base{
		cfg:       cfg,
		self:      cfg.Seam.Transport.Self(),
		transport: cfg.Seam.Transport,
		clock:     cfg.Seam.Clock,
		rand:      cfg.Seam.Rand.Stream("overlay"),
		log:       cfg.Logger.Named("overlay"),
		epoch:     cfg.Seam.Clock.Now().Add(-1), // so that 0 is never a time
		drops:     drop.New(dropReasons),
		memory:    memory{partials: cfg.Held},
	}}
	o.standby = session.NewStandby(gatedClock{o.base})
	o.ctx, o.cancel = context.WithCancelCause(context.Background())
	o.rand.Read(o.instance[:]) // never fails
	o.links = linkTable{o: o, all: make(map[peer.ID]*Link), lookAt: minLinks}
	o.callers = newCallers(o.rand.IntN)
	o.uncertified = noticeLog{base: o.base}
	o.loopback = newLoopback(o)
	o.search = newSearch(o.base)
	o.clocks = newClockWatch(o.base, o.links.tellClocks)
	o.board, o.renewal, o.exclusion.o, o.spares.o = newBoard(o), newRenewal(o), o, o
	o.handlers[wire.KindStatement] = o.board.receive
	o.handlers[wire.KindCertificate] = shownAnew
	o.handlers[wire.KindSpare] = heardSpare
	return o, nil
}

// selfSession is the session of the link to ourselves: the first number.
const selfSession = 1

// newLoopback returns the link to ourselves. It has the lanes, bounds and
// order of any link, but no connection below: its reader takes what its queue has.
func newLoopback(o *Overlay) *Link {
	l := newLink(o, o.self)
	s := l.newSession(selfSession)
	l.last.Store(s)
	l.number.Store(s.Number())
	return l
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
	o.loopback.mu.Lock()
	o.loopback.ended = make(chan struct{})
	o.loopback.mu.Unlock()
	o.gate.Spawn(o.serveLoopback)
	o.search.start()
	o.clocks.looks.start(o.base, "overlay/clocks", clockLook, func() { o.clocks.step(clockEvent{}) })
	o.spares.start(o.base, "overlay/spare", spareLook, o.spares.look)
	return nil
}

// serveLoopback hands on what this node sends to itself, until the overlay
// closes, or says goodbye to itself.
func (o *Overlay) serveLoopback() {
	defer close(o.loopback.ended)
	if err := o.loopback.last.Load().RunLoop(); err != nil && !o.leaving() {
		panic("BUG: link to ourselves: " + err.Error())
	}
}

// inbox is the Overlay as the transport sees it.
type inbox struct{ o *Overlay }

var _ TransportHandler = inbox{}

// HandleStream implements TransportHandler.
func (i inbox) HandleStream(s Stream) {
	if i.o.leaving() || !i.o.gate.Spawn(func() { i.o.accept(s) }) {
		s.Reset(codeShutdown)
		s.Close()
	}
}

// Certificate implements TransportHandler.
func (i inbox) Certificate() []byte { return i.o.cfg.Admission.Certificate() }

// Routes implements TransportHandler.
func (i inbox) Routes(p peer.ID, certificate []byte) bool { return i.o.routes(p, certificate) }

// PeerUp implements TransportHandler.
func (i inbox) PeerUp(p peer.ID) {
	i.o.search.up(p)
	askWhy(i.o, p)
}

// PeerDown implements TransportHandler. The streams of a link fail by
// themselves, and it may come late: only the search for peers is told.
func (i inbox) PeerDown(p peer.ID) { i.o.search.down(p) }

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

// Link returns the link to p. It never returns nil and does not dial. The link
// to this node itself is always up, with session 1.
func (o *Overlay) Link(p peer.ID) *Link {
	if p == o.self {
		return o.loopback
	}
	return o.links.get(p)
}

// Links describes all links that are up or being opened, by peer id.
func (o *Overlay) Links() []LinkStatus {
	var all []LinkStatus
	for _, l := range o.links.sorted() {
		if s, ok := describe(l); ok {
			all = append(all, s)
		}
	}
	return all
}

// NameOf is what people call a peer, as it has said itself when a link was made: any
// text, to be escaped. "" = it has no name, or no link to it was made.
func (o *Overlay) NameOf(p peer.ID) string {
	if p == o.self {
		return o.cfg.Name
	}
	l := o.links.known(p)
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known.name
}

// Clocks compares the wall clock of this node with those of its peers.
func (o *Overlay) Clocks() ClockStatus { return o.clocks.status() }

// Walls are the wall-clock times that count for what depends on the time of the day: this
// node's own, and a second one while most of its peers differ, or after it was set.
func (o *Overlay) Walls() []time.Time { return o.clocks.walls() }

// OnWalls has f called when Walls are others than they would be by the passing of time. f
// must not block. Only before Start.
func (o *Overlay) OnWalls(f func()) { o.clocks.turn = f }

// Search tells how the search for peers goes.
func (o *Overlay) Search() SearchStatus { return o.search.status() }

// SetSeeds replaces the seeds, once Start was called: new ones are dialled at once,
// and links with those that are none any more stay.
func (o *Overlay) SetSeeds(addrs []string) { o.search.reseed(slices.Clone(addrs)) }

// Traffic tells how much was sent and received on all links together.
func (o *Overlay) Traffic() Traffic {
	t := Traffic{Frames: o.traffic.frames.Load(), Sent: o.traffic.sums(), Received: o.traffic.received.Load()}
	for _, l := range o.links.sorted() {
		queued, kept := l.load()
		for lane := range queued {
			t.Queued[lane] += queued[lane]
			t.Kept[lane] += kept[lane]
		}
	}
	return t
}

// Drops counts what was dropped, by reason; reasons that never occurred are
// left out.
func (o *Overlay) Drops() map[string]uint64 { return o.drops.ByName() }

// DropNames are the reasons that Drops counts.
func DropNames() []string { return drop.Names(dropReasons)[1:] } // the first is none

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

// handle gives a message to whoever wants its kind.
func (o *Overlay) handle(l *Link, k wire.Kind, body []byte) (kept bool) {
	if h := o.handlers[k]; h != nil {
		return h(l, body)
	}
	o.drops.Inc(dropReason(session.DropUnknownKind))
	return false
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
	o.log.Debug("link event", zap.Stringer("event", e.Type), zap.Stringer("id", e.Peer),
		zap.Uint64("session", e.Session), zap.Error(e.Err))
	var name, addr string
	if e.Type == LinkUp || e.Type == LinkRecovered {
		e.Link.mu.Lock()
		name, addr = e.Link.known.name, e.Link.known.addr
		addrs := e.Link.known.addrs // best first; never changed, only replaced
		e.Link.mu.Unlock()
		o.search.met(e.Peer, addrs)
	}
	o.refused.note(o.clock.Now(), e.Peer, e.Err)
	o.search.link(e, name, addr)
	o.board.link(e)
	for _, f := range o.subscribers {
		f(e)
	}
}

// Shutdown ends all links politely: what is queued is sent, then a goodbye, and
// the peer's end is waited for, at most until ctx ends and at most five
// seconds; peers that hang already are not waited for. What this node has sent to
// itself is handled, too. Then it closes. The error is ctx's, if it ended first, or
// Close's.
func (o *Overlay) Shutdown(ctx context.Context) error {
	o.departed.Store(true)
	o.search.stop()
	limited, cancel := WithTimeout(ctx, o.clock, "overlay/shutdown", shutdownLimit)
	defer cancel()
	leave(limited, o.links.sorted()...)
	leave(limited, o.loopback) // last: what comes from others may be passed on there
	err := ctx.Err()
	if closeErr := o.Close(); err == nil {
		err = closeErr
	}
	return err
}

// leave has the links say goodbye, and waits until they are down, or ctx ends.
func leave(ctx context.Context, links ...*Link) {
	var ended []<-chan struct{}
	for _, l := range links {
		if c := l.leave(); c != nil {
			ended = append(ended, c)
		}
	}
	for _, c := range ended {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
}

// Close ends everything at once and waits for all goroutines. It may be
// called more than once.
func (o *Overlay) Close() error {
	o.departed.Store(true)
	o.closing.Do(func() {
		o.search.stop()
		o.clocks.looks.stop()
		o.spares.stop()
		o.board.stop()
		o.renewal.stop()
		for _, l := range append(o.links.sorted(), o.loopback) {
			l.abandon()
		}
		o.cancel(ErrClosed)
		if o.started.Load() {
			o.closeErr = o.transport.Close()
		}
		o.gate.Close()
		o.search.save()
	})
	return o.closeErr
}
