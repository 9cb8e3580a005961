// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// Bounds of connecting to whoever is at a list of addresses.
const (
	maxTried    = 16 // addresses per call, chosen at random
	tryParallel = 8
)

// search calls whoever is at addresses.
type search struct{ caller }

// connectAny connects to the peers at the addresses, and returns the first.
// An address to which a connection stands is not asked again, so a seed that is
// dialled for ever costs little while all is well.
func (x search) connectAny(ctx context.Context, seeds []seed) (peer.ID, error) {
	places, errs := x.resolve(ctx, seeds)
	rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	self := x.advertises(seeds)
	bound, _ := x.bound() // without it we would only ask ourselves who we are
	var connected peer.ID
	var unknown []seed
	for _, s := range places {
		switch p := x.whoIsAt(s, bound); {
		case p == x.owner.self:
			self = true
		case p != "" && x.agreed(p):
			connected = p
		case len(unknown) < maxTried:
			unknown = append(unknown, s)
		}
	}
	p, tried := x.tryAll(ctx, unknown)
	if p != "" {
		return p, nil
	}
	if connected != "" {
		return connected, nil
	}
	for _, err := range tried {
		if errors.Is(err, ErrSelf) {
			self = true
		} else {
			errs = append(errs, err)
		}
	}
	if self {
		p = x.owner.self
	}
	return p, errors.Join(errs...)
}

// advertises reports whether one of the seeds is an address that this node announces
// as its own. Behind a NAT it may not reach itself there.
func (x search) advertises(seeds []seed) bool {
	return slices.ContainsFunc(seeds, func(s seed) bool { return slices.ContainsFunc(x.owner.advertise, s.addr.Equal) })
}

// resolve looks up the names in seeds, all at once.
func (x search) resolve(ctx context.Context, seeds []seed) (places []seed, errs []error) {
	found, failed := make([][]seed, len(seeds)), make([]error, len(seeds))
	var wg sync.WaitGroup
	for i, s := range seeds {
		wg.Go(func() { found[i], failed[i] = x.owner.resolver.resolve(ctx, s) })
	}
	wg.Wait()
	for i := range seeds {
		places = append(places, found[i]...)
		if failed[i] != nil {
			errs = append(errs, failed[i])
		}
	}
	return places, errs
}

// tryAll connects to whoever is at the places. It returns the first peer, or
// all errors; what is under way then goes on until the dial timeout.
func (x search) tryAll(ctx context.Context, places []seed) (peer.ID, []error) {
	type result struct {
		peer peer.ID
		err  error
	}
	results := make(chan result, len(places))
	turns := make(chan struct{}, tryParallel)
	for _, s := range places {
		x.owner.wg.Go(func() {
			// Not ctx: it ends when the first one is found.
			ctx, cancel := context.WithTimeout(x.owner.ctx, 2*x.owner.cfg.DialTimeout)
			defer cancel()
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				results <- result{err: ctx.Err()}
				return
			}
			p, err := x.try(ctx, s)
			<-turns
			results <- result{p, err}
		})
	}
	var errs []error
	for range places {
		select {
		case r := <-results:
			if r.err == nil {
				return r.peer, nil
			}
			errs = append(errs, r.err)
		case <-ctx.Done():
			return "", append(errs, ctx.Err())
		}
	}
	return "", errs
}

// try connects to whoever is at a place.
func (x search) try(ctx context.Context, s seed) (_ peer.ID, err error) {
	p := s.peer
	if p == "" {
		p, err = x.probe(ctx, s.addr)
	}
	if p == x.owner.self {
		p, err = "", ErrSelf
	}
	if s.peer == "" {
		x.owner.learned.put(s.addr, p)
	}
	if err != nil {
		return "", err
	}
	return p, x.connect(ctx, p, []ma.Multiaddr{s.addr})
}

// probe asks who is at addr, with a TLS handshake and nothing else. The other
// side closes the connection without anybody there hearing of a peer.
func (x search) probe(ctx context.Context, addr ma.Multiaddr) (peer.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, x.owner.cfg.DialTimeout)
	defer cancel()
	raw, err := dialRaw(ctx, x.owner.cfg.Sockets, addr)
	if err != nil {
		return "", fmt.Errorf("p2p: dial %s: %w", addr, err)
	}
	c, err := x.upgrader.secure.connect(ctx, raw, "", alpnProbe)
	if err != nil {
		return "", fmt.Errorf("p2p: dial %s: %w", addr, err)
	}
	return c.RemotePeer(), c.Close()
}

// whoIsAt returns the node that is known to be at a place; empty if none is. What
// peers say of their own addresses does not count: many have the same private ones.
func (x search) whoIsAt(s seed, bound []ma.Multiaddr) peer.ID {
	if s.peer != "" {
		return s.peer
	}
	if slices.ContainsFunc(bound, s.addr.Equal) {
		return x.owner.self
	}
	for _, c := range x.swarm.Conns() {
		if c.Stat().Direction == network.DirOutbound && c.RemoteMultiaddr().Equal(s.addr) {
			return c.RemotePeer()
		}
	}
	return x.owner.learned.get(s.addr)
}
