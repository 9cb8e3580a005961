// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/overlay"
)

// Host is the libp2p side of one node. All methods may be called concurrently.
type Host struct {
	// Immutable after New.
	cfg       Config
	self      peer.ID
	admitted  admission
	log       *zap.Logger
	listen    []ma.Multiaddr
	advertise []ma.Multiaddr
	resolver  resolver
	router    *router
	counters  *counters
	learned   *learned
	held      *budget.Budget[peer.ID] // bytes
	sieves    sieves
	// uncertified is how long a connection may last that is of no use.
	uncertified time.Duration

	// Guarded by mu.
	mu    sync.Mutex
	state hostState
	node  *assembly // from Start on

	// Lifecycle. ctx ends when Close begins; wg counts calls and goroutines.
	ctx       context.Context
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	closeOnce sync.Once
}

type hostState uint8

const (
	hostNew hostState = iota
	hostRunning
	hostClosed
)

var (
	_ overlay.Transport = (*Host)(nil)
	_ overlay.Renewer   = (*Host)(nil)
	_ overlay.Reviewer  = (*Host)(nil)
)

// New returns a Host that does nothing yet. It returns an error for a Config
// that can't work.
func New(cfg Config) (*Host, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	h := &Host{
		cfg:      cfg,
		self:     cfg.Key.PeerID(),
		admitted: cfg.Network,
		log:      cfg.Logger.Named("p2p"),
		counters: new(counters),
		learned:  newLearned(),
		held:     budget.New[peer.ID](cfg.MaxHeld),

		uncertified: uncertifiedTime,
	}
	var err error
	if h.listen, err = cfg.listenAddrs(); err != nil {
		return nil, err
	}
	if h.advertise, err = cfg.advertised(); err != nil {
		return nil, err
	}
	if h.resolver, err = newResolver(cfg.Resolver); err != nil {
		return nil, err
	}
	h.router = &router{self: h.self, log: h.log, counters: h.counters}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// Self implements overlay.Transport.
func (h *Host) Self() peer.ID { return h.self }

// Held is the budget of Config.MaxHeld. Layers above can have what they hold for peers
// count against it, too.
func (h *Host) Held() *budget.Budget[peer.ID] { return h.held }

// Sieve describes that of the listeners; nil = there are none of this machine.
func (h *Host) Sieve() *Sieve { return h.sieves.get() }

// Router returns the router of this host. Before Start and after Close it
// knows this node only.
func (h *Host) Router() overlay.Router { return h.router }

// Start implements overlay.Transport. A Host starts once.
func (h *Host) Start(handler overlay.TransportHandler) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != hostNew {
		return ErrClosed
	}
	node, err := assemble(h, handler)
	if err != nil {
		h.state = hostClosed
		return err
	}
	h.node, h.state = node, hostRunning
	return nil
}

// enter counts a call in and returns what it works with; the context ends with
// ctx and when the host is closed. leave must be called if there is no error.
func (h *Host) enter(ctx context.Context) (_ context.Context, _ *assembly, leave func(), _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != hostRunning {
		return nil, nil, nil, ErrClosed
	}
	h.wg.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.ctx, cancel)
	return ctx, h.node, func() {
		stop()
		cancel()
		h.wg.Done()
	}, nil
}

// current returns what runs, or nil.
func (h *Host) current() *assembly {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != hostRunning {
		return nil
	}
	return h.node
}

// Addrs implements overlay.Transport.
func (h *Host) Addrs() []string {
	node := h.current()
	if node == nil {
		return nil
	}
	bound, err := node.bound()
	if err != nil {
		h.log.Debug("local addresses can't be read", zap.Error(err))
	}
	var texts []string
	for _, a := range h.publish(bound) {
		texts = append(texts, a.String())
	}
	return texts
}

// publish chooses the addresses that others are told.
func (h *Host) publish(bound []ma.Multiaddr) []ma.Multiaddr {
	if len(h.advertise) > 0 {
		return h.advertise
	}
	return ma.FilterAddrs(bound, func(a ma.Multiaddr) bool {
		return !manet.IsIP6LinkLocal(a) // means nothing to others
	})
}

// Disconnect implements overlay.Transport.
func (h *Host) Disconnect(p peer.ID) {
	if node := h.current(); node != nil {
		_ = node.swarm.ClosePeer(p)
	}
}

// KeysChanged tells that other keys of the network count than before: handshakes show
// them, and connections that none of them has admitted are closed.
func (h *Host) KeysChanged() error {
	if node := h.current(); node != nil {
		return node.keysChanged()
	}
	return nil
}

// Review implements overlay.Reviewer.
func (h *Host) Review() error {
	if node := h.current(); node != nil {
		return examiner{node}.review()
	}
	return nil
}

// Retire implements overlay.Renewer.
func (h *Host) Retire(p peer.ID) bool {
	node := h.current()
	return node != nil && node.retire(p)
}

// Settle implements overlay.Renewer.
func (h *Host) Settle(p peer.ID, replaced bool) {
	if node := h.current(); node != nil {
		node.settle(p, replaced)
	}
}

// Close implements overlay.Transport. What was written to streams before is
// sent; peers get Config.DrainTime to take it.
func (h *Host) Close() error {
	h.closeOnce.Do(h.close)
	return nil
}

func (h *Host) close() {
	h.mu.Lock()
	node := h.node
	running := h.state == hostRunning
	h.state = hostClosed
	h.mu.Unlock()
	h.cancel()
	if running {
		node.close()
	}
	h.wg.Wait()
}

// Counters returns everything this Host has counted, by name; mostly what it
// refused, and why. The caller owns the map.
func (h *Host) Counters() map[string]uint64 {
	m := make(map[string]uint64, counterCount)
	for k, name := range counterNames {
		m[name] = h.counters[k].Load()
	}
	return m
}
