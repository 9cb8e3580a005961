// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	basichost "github.com/libp2p/go-libp2p/p2p/host/basic"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
	"github.com/arke-mesh/arke/security"
)

// connGrace is how long a new connection is safe from being closed because
// there are too many.
const connGrace = time.Minute

// assembly is a running libp2p host, put together by hand: the constructors of
// go-libp2p link QUIC, WebRTC and 10 MB that we do not use, whatever options
// they get.
//
// Pitfall "circuit relay and AutoRelay limits": neither is assembled; where
// nodes can't reach each other Advertise helps. Pitfall "metrics": nothing
// gets a tracer, so nothing is registered with Prometheus's default
// registerer. Pitfall "WithDialerForAddr": not used.
type assembly struct {
	owner    *Host
	swarm    *swarm.Swarm
	host     *basichost.BasicHost
	conns    *connmgr.BasicConnMgr
	upgrader *upgrader
	notifier *notifier
	carrying *carrying
	links    atomic.Uint64 // numbers protect's tags
}

// assemble starts everything. Order matters: what peers see of us is complete
// before the first one can connect.
//
// Pitfall "identify push": a handler registered later is pushed to every peer,
// and receivers drop most pushes without a word. Pitfall "protocol ids": there
// is one for links and one for the DHT, whatever runs on top.
func assemble(h *Host, handler overlay.TransportHandler) (_ *assembly, err error) {
	x := &assembly{owner: h, carrying: newCarrying()}
	defer func() {
		if err != nil {
			x.release()
		}
	}()
	bus := eventbus.NewBus()
	if err := x.buildSwarm(bus, handler); err != nil {
		return nil, err
	}
	x.notifier = newNotifier(handler, h.counters, h.router.up, h.router.down, examiner{x}.examineNew)
	x.swarm.Notify(x.notifier)
	if x.conns, err = connmgr.NewConnManager(h.cfg.MaxConns/2, h.cfg.MaxConns*3/4, connmgr.WithGracePeriod(connGrace)); err != nil {
		return nil, fmt.Errorf("p2p: %w", err)
	}
	x.host, err = basichost.NewHost(x.swarm, &basichost.HostOpts{
		EventBus:    bus,
		ConnManager: x.conns,
		UserAgent:   "arke",
		// TLS has authenticated who says where it is; a signature on top
		// would only cost time.
		DisableSignedPeerRecord: true,
		AddrsFactory:            h.publish,
	})
	if err != nil {
		return nil, fmt.Errorf("p2p: %w", err)
	}
	if err := h.router.start(x.host, h.cfg.Network.ID()); err != nil {
		return nil, fmt.Errorf("p2p: %w", err)
	}
	x.host.Start()
	if err := x.listen(); err != nil {
		return nil, err
	}
	return x, nil
}

// buildSwarm makes what dials, accepts and holds connections.
func (x *assembly) buildSwarm(bus event.Bus, handler overlay.TransportHandler) error {
	h := x.owner
	key := h.cfg.Key.Libp2p()
	secure, err := newSecurer(key, h.self, h.admitted, security.AdmissionOID(), handler.Certificate, h.counters, h.log)
	if err != nil {
		return err
	}
	secure.calls = h.cfg.Calls
	book, err := pstoremem.NewPeerstore()
	if err != nil {
		return fmt.Errorf("p2p: %w", err)
	}
	if err := errors.Join(book.AddPrivKey(h.self, key), book.AddPubKey(h.self, key.GetPublic())); err != nil {
		return errors.Join(fmt.Errorf("p2p: %w", err), book.Close())
	}
	limits := newLimits(h.cfg, h.counters)
	x.swarm, err = swarm.NewSwarm(h.self, book, bus,
		swarm.WithResourceManager(limits),
		// Pitfall "dial timeouts": the defaults are 15 s, and 5 s for
		// private addresses.
		swarm.WithDialTimeout(h.cfg.DialTimeout),
		swarm.WithDialTimeoutLocal(h.cfg.DialTimeout),
		swarm.WithDialRanker(rankAddrs),
		swarm.WithMultiaddrResolver(swarm.ResolverFromMaDNS{Resolver: h.resolver.dns}),
		// After failures these refuse to dial whole kinds of addresses.
		swarm.WithUDPBlackHoleSuccessCounter(nil),
		swarm.WithIPv6BlackHoleSuccessCounter(nil),
	)
	if err != nil {
		return errors.Join(fmt.Errorf("p2p: %w", err), book.Close())
	}
	x.upgrader = newUpgrader(h, secure, limits, newDoorkeeper(h.cfg, h.counters), x.acceptStream, handler.Routes)
	if err := x.swarm.AddTransport(&tcpTransport{owner: h, upgrader: x.upgrader, limits: limits}); err != nil {
		return fmt.Errorf("p2p: %w", err)
	}
	return nil
}

// listen opens the listeners.
func (x *assembly) listen() error {
	open := 0
	var missing error
	for _, a := range x.owner.listen {
		err := x.swarm.AddListenAddr(a)
		switch {
		case err == nil:
			open++
		case noIPv6(a, err):
			missing = errors.Join(missing, fmt.Errorf("p2p: listen at %s: %w", a, err))
			x.owner.log.Debug("no IPv6 on this machine", zap.Stringer("address", a), zap.Error(err))
		default:
			return fmt.Errorf("p2p: listen at %s: %w", a, err)
		}
	}
	if open == 0 {
		return missing
	}
	return nil
}

// noIPv6 says whether listening at a failed because the machine has no IPv6.
func noIPv6(a ma.Multiaddr, err error) bool {
	_, v6 := a.ValueForProtocol(ma.P_IP6)
	return v6 == nil && manet.IsIPUnspecified(a) &&
		(errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL))
}

// bound returns the addresses that this node can be reached at as things are
// now. libp2p's own list is up to a minute old.
func (x *assembly) bound() ([]ma.Multiaddr, error) {
	listening := x.swarm.ListenAddresses()
	if len(listening) == 0 {
		return nil, nil
	}
	addrs, err := manet.ResolveUnspecifiedAddresses(listening, nil)
	slices.SortFunc(addrs, ma.Multiaddr.Compare)
	return addrs, err
}

// acceptStream takes over an incoming link stream, if its peer may have one more.
func (x *assembly) acceptStream(inner *mux.Stream, c *muxedConn) {
	scope, err := x.upgrader.limits.OpenStream(c.secure.remote, network.DirInbound)
	if err != nil {
		_ = inner.ResetWithError(network.StreamResourceLimitExceeded)
		return
	}
	unprotect := x.protect(c.secure.remote)
	x.notifier.stream(newStream(inner, c, x.swarm, func() {
		scope.Done()
		unprotect()
	}))
}

// protect keeps the connection with p from being closed as idle until the
// function that it returns is called.
//
// Pitfall "connection manager": the default one closes connections from 192
// on, inbound ones first, whatever they carry.
func (x *assembly) protect(p peer.ID) func() {
	tag := fmt.Sprintf("link %d", x.links.Add(1))
	x.conns.Protect(p, tag)
	x.carrying.add(p)
	return func() {
		x.conns.Unprotect(p, tag)
		x.carrying.remove(p)
	}
}

// close ends everything and waits, for the handler too. Nobody gets in any
// more while the connections are drained.
func (x *assembly) close() {
	// The listeners stay: closing them would be pushed to all peers as "has
	// no address any more", and they would forget where to find us.
	x.upgrader.door.close()
	var questions sync.WaitGroup
	questions.Go(x.owner.router.end())
	x.drain()
	for _, p := range x.swarm.Peers() {
		_ = x.swarm.ClosePeer(p) // the router, and identify, closed next, would wait for hung ones
	}
	questions.Wait()
	x.release()
	x.notifier.wg.Wait()
}

// release closes what there is, and waits.
func (x *assembly) release() {
	x.owner.router.close()
	if x.upgrader != nil {
		x.upgrader.door.close() // the listeners wait for their guests
	}
	switch {
	case x.host != nil:
		_ = x.host.Close() // closes the swarm, the book and conns too
	case x.swarm != nil:
		_ = x.swarm.Close()
		_ = x.swarm.Peerstore().Close()
		if x.conns != nil {
			_ = x.conns.Close()
		}
	}
}
