// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/overlay"
)

// Connect implements overlay.Transport.
//
// A candidate without a peer id may stand for several nodes, as the name of a
// headless service does. Then everybody at its addresses who is not connected
// yet is connected to, and the first one is returned; the others follow within
// the dial timeout. A peer that shows no certificate which lets it in is
// overlay.ErrNotAdmitted.
func (h *Host) Connect(ctx context.Context, c overlay.Candidate) (peer.ID, error) {
	ctx, node, leave, err := h.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	x := caller{node}
	seeds, bad := parseSeeds(c)
	switch {
	case c.Peer == "" && len(seeds) == 0:
		return "", bad
	case c.Peer == "":
		return search{x}.connectAny(ctx, seeds)
	}
	return c.Peer, withCause(x.replaced(x.connect(ctx, c.Peer, addrsOf(seeds))), bad)
}

// Open implements overlay.Transport. It returns without waiting for the peer:
// that it refuses us, or does not speak the link protocol, shows in the first
// Read.
//
// Pitfall "identify": NewStream of a libp2p host waits for identify on each
// new connection, and Connect does too. The dial, the stream and its header
// are done by hand, and nothing waits: two round trips less.
func (h *Host) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	ctx, node, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	seeds, bad := parseSeeds(overlay.Candidate{Peer: p, Addrs: addrs})
	// A connection may have ended without anybody having noticed yet; then
	// another one is dialled.
	for attempt := 0; ; attempt++ {
		conn, err := caller{node}.dial(ctx, p, addrsOf(seeds))
		if err != nil {
			return nil, withCause(err, bad)
		}
		var c *muxedConn
		if !conn.As(&c) {
			return nil, errors.New("p2p: BUG: a connection that is not ours")
		}
		inner, err := c.OpenLink()
		switch {
		case err == nil:
			return newStream(inner, c, node.swarm, node.protect(p)), nil
		case wasRefused(conn):
			return nil, fmt.Errorf("%w: %w: %w", ErrRefused, overlay.ErrTurnedAway, err)
		case attempt == 2:
			return nil, fmt.Errorf("p2p: open stream to %s: %w", p, err)
		}
	}
}

// caller calls peers, or finds that they are connected.
type caller struct{ *assembly }

// connect makes sure of a connection to p that p has agreed to.
func (x caller) connect(ctx context.Context, p peer.ID, addrs []ma.Multiaddr) error {
	c, err := x.dial(ctx, p, addrs)
	if err != nil {
		return err
	}
	var conn *muxedConn
	if !c.As(&conn) {
		return errors.New("p2p: BUG: a connection that is not ours")
	}
	if err := x.agrees(ctx, c, conn.secure); err != nil {
		return err
	}
	if !conn.routing.Load() {
		return fmt.Errorf("%w: %s shows no certificate that lets it in", overlay.ErrNotAdmitted, p)
	}
	return nil
}

// agrees waits until the peer has shown that it has admitted this node.
func (x caller) agrees(ctx context.Context, c network.Conn, conn *secureConn) error {
	if c.Stat().Direction != network.DirOutbound {
		return nil
	}
	p := conn.remote
	select {
	case <-conn.confirmed:
		return nil
	case <-conn.below.Gone():
		if wasRefused(c) {
			return fmt.Errorf("%w: %w: %s hung up after the handshake", ErrRefused, overlay.ErrTurnedAway, p)
		}
		return fmt.Errorf("p2p: connection to %s was closed", p)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wasRefused says whether the peer hung up on us before it said anything.
func wasRefused(c network.Conn) bool {
	var conn *secureConn
	return c.As(&conn) && conn.refusedBy(conn.below.Err())
}

// agreed says whether a connection to p stands that both have agreed to. libp2p
// calls a peer connected before that, and for a moment after it has hung up.
func (x caller) agreed(p peer.ID) bool {
	return slices.ContainsFunc(x.swarm.ConnsToPeer(p), func(c network.Conn) bool {
		var conn *muxedConn
		return !c.IsClosed() && c.As(&conn) && conn.routing.Load() &&
			(c.Stat().Direction == network.DirInbound || conn.secure.heard.Load())
	})
}

// dial returns a connection to p, an existing one if there is one that works.
func (x caller) dial(ctx context.Context, p peer.ID, addrs []ma.Multiaddr) (network.Conn, error) {
	if p == x.owner.self {
		return nil, ErrSelf
	}
	// Pitfall "address book": what identify learns is filtered by where the
	// peer is seen from, so nodes behind one NAT do not find each other
	// through outsiders. The addresses in members' records are complete; they
	// come in here and are tried first of all.
	x.host.Peerstore().AddAddrs(p, addrs, peerstore.TempAddrTTL)
	// Somebody wants this peer now: it may be back.
	x.swarm.Backoff().Clear(p)
	c, err := x.dialPeer(ctx, p)
	if err != nil {
		return nil, explainDial(p, err)
	}
	return c, nil
}

// explainDial gives a failed dial a text of one line. The causes stay
// reachable for errors.Is.
func explainDial(p peer.ID, err error) error {
	if errors.Is(err, swarm.ErrNoAddresses) || errors.Is(err, swarm.ErrNoGoodAddresses) {
		return fmt.Errorf("%w of %s", ErrNoAddress, p)
	}
	var failed *swarm.DialError
	if !errors.As(err, &failed) {
		return err
	}
	causes := make([]string, 0, len(failed.DialErrors))
	for i := range failed.DialErrors {
		e := &failed.DialErrors[i]
		cause := oneLine(e.Cause)
		if mismatch := (sec.ErrPeerIDMismatch{}); errors.As(e.Cause, &mismatch) {
			cause = fmt.Sprintf("peer id mismatch: another node answers there, %s instead of %s", mismatch.Actual, mismatch.Expected)
		}
		causes = append(causes, fmt.Sprintf("%s: %s", e.Address, cause))
	}
	explained := &dialError{cause: err, text: fmt.Sprintf("p2p: dial %s: %s", p, strings.Join(causes, "; "))}
	if len(failed.DialErrors) > 0 && !slices.ContainsFunc(failed.DialErrors, func(e swarm.TransportError) bool {
		return !isElsewhere(e.Cause)
	}) {
		return fmt.Errorf("%w: %w", overlay.ErrRefused, explained)
	}
	return explained
}

// isElsewhere says whether a failed dial shows that the peer's process is not at the
// address: nobody listens there, or somebody else does. Loopback addresses of another
// machine lead to this node itself, or to others here.
func isElsewhere(cause error) bool {
	var mismatch sec.ErrPeerIDMismatch
	return errors.Is(cause, syscall.ECONNREFUSED) || errors.Is(cause, swarm.ErrDialToSelf) || errors.As(cause, &mismatch)
}

// replaced makes a failed dial an overlay.ReplacedError if other nodes of the network
// answer at every address. One address proves nothing, because many machines have the
// same private ones.
func (x caller) replaced(err error) error {
	var failed *swarm.DialError
	if !errors.As(err, &failed) {
		return err
	}
	var other *overlay.ReplacedError
	for i := range failed.DialErrors {
		var mismatch sec.ErrPeerIDMismatch
		e := &failed.DialErrors[i]
		switch {
		case errors.Is(e.Cause, swarm.ErrDialToSelf):
		case !errors.As(e.Cause, &mismatch):
			return err
		case mismatch.Actual != x.owner.self:
			other = &overlay.ReplacedError{By: mismatch.Actual, Addr: e.Address.String(), Err: err}
		}
	}
	if other == nil {
		return err
	}
	return other
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

type dialError struct {
	cause error
	text  string
}

func (e *dialError) Error() string { return e.text }
func (e *dialError) Unwrap() error { return e.cause }

// withCause adds to an error for want of addresses what was wrong with those
// that were given. A peer that is connected, or known from elsewhere, needs
// none.
func withCause(err, bad error) error {
	if bad != nil && errors.Is(err, ErrNoAddress) {
		return fmt.Errorf("%w: %w", err, bad)
	}
	return err
}

// parseSeeds parses the addresses of a candidate. Those of other peers are
// left out. The error is about those that can't be used.
func parseSeeds(c overlay.Candidate) ([]seed, error) {
	var seeds []seed
	var errs []error
	for _, text := range c.Addrs {
		s, err := parseSeed(text)
		if err == nil && c.Peer != "" && s.peer != "" && s.peer != c.Peer {
			err = fmt.Errorf("%w: %q names another peer than %s", ErrBadAddress, text, c.Peer)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seeds = append(seeds, s)
	}
	if len(c.Addrs) == 0 && c.Peer == "" {
		errs = append(errs, fmt.Errorf("%w: a candidate needs a peer id or an address", ErrNoAddress))
	}
	return seeds, errors.Join(errs...)
}

func addrsOf(seeds []seed) []ma.Multiaddr {
	addrs := make([]ma.Multiaddr, len(seeds))
	for i, s := range seeds {
		addrs[i] = s.addr
	}
	return addrs
}
