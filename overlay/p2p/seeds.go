// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	madns "github.com/multiformats/go-multiaddr-dns"
)

// Bounds of what one address may resolve to.
const (
	maxResolved     = 64
	maxDNSAddrDepth = 4
)

// seed is a parsed address of a node: how to reach it, and who it is if that
// is said.
type seed struct {
	addr ma.Multiaddr // without /p2p; may begin with a name
	peer peer.ID      // may be empty
}

// CheckSeed returns ErrBadAddress for a text that can't be a seed, so that a
// typing error is told at the start instead of being dialled for ever.
func CheckSeed(text string) error {
	_, err := parseSeed(text)
	return err
}

// CheckListen returns what is wrong with an address of Config.Listen. It does not look
// whether the machine has it, or whether the port is free.
func CheckListen(text string) error {
	_, err := parseListen(text)
	return err
}

// CheckAdvertised returns what is wrong with an address of Config.Advertise. The host
// can't tell before it has a key whether one with a peer id names itself.
func CheckAdvertised(text string) error { return CheckSeed(text) }

// parseSeed parses a multiaddr or "host:port", where host is a name or an IP
// address.
func parseSeed(text string) (seed, error) {
	if strings.HasPrefix(text, "/") {
		return parseMultiaddr(text)
	}
	host, port, err := splitHostPort(text)
	if err != nil {
		return seed{}, err
	}
	if host == "" {
		return seed{}, fmt.Errorf("%w: %q has no host", ErrBadAddress, text)
	}
	proto := "dns"
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		if ip.Zone() != "" {
			return seed{}, fmt.Errorf("%w: %q: link-local addresses can't be used, they mean nothing to others", ErrBadAddress, text)
		}
		proto, host = "ip6", ip.String()
		if ip.Is4() {
			proto = "ip4"
		}
	}
	addr, err := ma.NewMultiaddr(fmt.Sprintf("/%s/%s/tcp/%d", proto, host, port))
	if err != nil {
		return seed{}, fmt.Errorf("%w: %q: %w", ErrBadAddress, text, err)
	}
	return seed{addr: addr}, nil
}

// parseMultiaddr parses a multiaddr with or without /p2p.
func parseMultiaddr(text string) (seed, error) {
	addr, err := ma.NewMultiaddr(text)
	if err != nil {
		return seed{}, fmt.Errorf("%w: %w", ErrBadAddress, err)
	}
	addr, id := peer.SplitAddr(addr)
	if len(addr) == 0 {
		return seed{}, fmt.Errorf("%w: %q says who, but not where", ErrBadAddress, text)
	}
	if beginsWith(addr, ma.P_DNSADDR) {
		return seed{addr, id}, nil
	}
	protocols := addr.Protocols()
	if len(protocols) != 2 || protocols[1].Code != ma.P_TCP || !isHost(protocols[0].Code) {
		return seed{}, fmt.Errorf("%w: %q: it must be /ip4, /ip6, /dns, /dns4 or /dns6 with /tcp, or /dnsaddr", ErrBadAddress, text)
	}
	return seed{addr, id}, nil
}

// parseListen parses an address to listen at; one without a host becomes two.
func parseListen(text string) ([]ma.Multiaddr, error) {
	if !strings.HasPrefix(text, "/") {
		host, port, err := splitHostPort(text)
		if err != nil {
			return nil, err
		}
		if host == "" {
			return []ma.Multiaddr{
				ma.StringCast(fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", port)),
				ma.StringCast(fmt.Sprintf("/ip6/::/tcp/%d", port)),
			}, nil
		}
	}
	s, err := parseSeed(text)
	if err != nil {
		return nil, err
	}
	if _, err := toTCPAddr(s.addr); err != nil || s.peer != "" {
		return nil, fmt.Errorf("%w: %q: to listen takes an IP address and a TCP port", ErrBadAddress, text)
	}
	return []ma.Multiaddr{s.addr}, nil
}

func splitHostPort(text string) (host string, port uint16, _ error) {
	host, service, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %q is neither a multiaddr nor host:port", ErrBadAddress, text)
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %q: the port must be a number up to 65535", ErrBadAddress, text)
	}
	return host, uint16(number), nil
}

func isHost(code int) bool {
	switch code {
	case ma.P_IP4, ma.P_IP6, ma.P_DNS, ma.P_DNS4, ma.P_DNS6:
		return true
	}
	return false
}

// beginsWith says whether addr begins with one of the protocols.
func beginsWith(addr ma.Multiaddr, codes ...int) bool {
	for _, code := range codes {
		if len(addr) > 0 && addr[0].Protocol().Code == code {
			return true
		}
	}
	return false
}

// resolver turns names in addresses into IP addresses.
type resolver struct{ dns *madns.Resolver }

func newResolver(r Resolver) (resolver, error) {
	dns, err := madns.NewResolver(madns.WithDefaultResolver(r))
	return resolver{dns}, err
}

// resolve returns the addresses that s stands for: itself, or what its name
// leads to. A name may lead to many nodes, as that of a headless service does.
func (r resolver) resolve(ctx context.Context, s seed) ([]seed, error) {
	return r.step(ctx, s, maxDNSAddrDepth)
}

func (r resolver) step(ctx context.Context, s seed, depth int) ([]seed, error) {
	if !beginsWith(s.addr, ma.P_DNS, ma.P_DNS4, ma.P_DNS6, ma.P_DNSADDR) {
		return []seed{s}, nil
	}
	if depth == 0 {
		return nil, fmt.Errorf("%w: %s leads from name to name without end", ErrNoAddress, s.addr)
	}
	addrs, err := r.dns.Resolve(ctx, s.addr)
	if err != nil {
		return nil, fmt.Errorf("p2p: resolving %s: %w", s.addr, err)
	}
	var found []seed
	var errs []error
	for _, addr := range addrs {
		where, who := peer.SplitAddr(addr)
		if who == "" {
			who = s.peer
		}
		if len(where) == 0 || s.peer != "" && who != s.peer {
			continue // a record of somebody else at the same name
		}
		more, err := r.step(ctx, seed{where, who}, depth-1)
		found = append(found, more...)
		errs = append(errs, err)
	}
	if len(found) == 0 {
		return nil, errors.Join(append(errs, fmt.Errorf("%w: %s has none", ErrNoAddress, s.addr))...)
	}
	return found[:min(len(found), maxResolved)], nil
}
