// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"net"
	"slices"
	"strings"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// place is a network interface and the addresses at which this node can be
// reached through it.
type place struct {
	iface net.Interface
	addrs []ma.Multiaddr
}

// places returns where to look for other nodes: every interface that takes
// multicast and has an address we listen at. If there is none but loopback, as
// on a machine without network or in a new network namespace, it is loopback:
// there may be other nodes on this machine.
func places(bound []ma.Multiaddr) ([]place, error) {
	ifaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("p2p: interfaces: %w", err)
	}
	var found []place
	for _, iface := range ifaces {
		addrs, err := iface.Addrs()
		if err != nil {
			continue // it has just gone
		}
		if at := reachedThrough(addrs, bound); usable(iface.Flags) && len(at) > 0 {
			found = append(found, place{iface, at})
		}
	}
	loopback := func(p place) bool { return p.iface.Flags&net.FlagLoopback != 0 }
	if slices.ContainsFunc(found, func(p place) bool { return !loopback(p) }) {
		found = slices.DeleteFunc(found, loopback)
	}
	return found, nil
}

// usable says whether an interface can be used. Loopback rarely claims to do
// multicast, but it does.
func usable(f net.Flags) bool {
	return f&net.FlagUp != 0 && f&net.FlagPointToPoint == 0 && f&(net.FlagMulticast|net.FlagLoopback) != 0
}

// reachedThrough returns those of bound that belong to an interface with the
// given addresses.
func reachedThrough(iface []net.Addr, bound []ma.Multiaddr) []ma.Multiaddr {
	return ma.FilterAddrs(slices.Clone(bound), func(a ma.Multiaddr) bool {
		tcp, err := toTCPAddr(a)
		return err == nil && !manet.IsIP6LinkLocal(a) && slices.ContainsFunc(iface, func(x net.Addr) bool {
			n, ok := x.(*net.IPNet)
			return ok && n.IP.Equal(tcp.IP)
		})
	})
}

// toTCPAddr converts a multiaddr that is an IP address and a TCP port.
func toTCPAddr(a ma.Multiaddr) (*net.TCPAddr, error) {
	if !beginsWith(a, ma.P_IP4, ma.P_IP6) { // ToNetAddr would look names up
		return nil, fmt.Errorf("%w: %s is no IP address", ErrBadAddress, a)
	}
	addr, err := manet.ToNetAddr(a)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadAddress, err)
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not TCP", ErrBadAddress, a)
	}
	return tcp, nil
}

// samePlaces compares what is said where.
func samePlaces(a, b []place) bool {
	return slices.EqualFunc(a, b, func(a, b place) bool { return a.String() == b.String() })
}

// String describes everything that matters about p.
func (p place) String() string {
	texts := []string{fmt.Sprintf("%d %s", p.iface.Index, p.iface.Name)}
	for _, a := range p.addrs {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, " ")
}

func interfacesOf(places []place) []net.Interface {
	ifaces := make([]net.Interface, len(places))
	for i, p := range places {
		ifaces[i] = p.iface
	}
	return ifaces
}
