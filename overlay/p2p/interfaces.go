// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// place is a network interface, the networks on its link, and the addresses at
// which this node can be reached through it.
type place struct {
	iface net.Interface
	nets  []netip.Prefix
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
			found = append(found, place{iface, networksOf(addrs), at})
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

// networksOf is what the addresses of an interface say is on its link.
func networksOf(iface []net.Addr) []netip.Prefix {
	var nets []netip.Prefix
	for _, a := range iface {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(n.IP)
		if !ok {
			continue
		}
		ones, _ := n.Mask.Size()
		if p, err := addr.Unmap().Prefix(ones); err == nil {
			nets = append(nets, p)
		}
	}
	return nets
}

// believable returns those of addrs that somebody at from may be reached at through
// p: they are on the link, and, if they are of one family, in a network of from. So
// a neighbour can't have nodes dial where it could not itself be; loopback is on no
// link but loopback's own. There every sender is this machine, which sometimes gives
// no address of its own.
func (p place) believable(from netip.Addr, addrs []string) []string {
	local := p.iface.Flags&net.FlagLoopback != 0
	if !local && !slices.ContainsFunc(p.nets, func(n netip.Prefix) bool { return n.Contains(from) }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(addrs), func(text string) bool {
		a, err := ma.NewMultiaddr(text)
		if err != nil {
			return true
		}
		tcp, err := toTCPAddr(a)
		if err != nil {
			return true
		}
		addr := tcp.AddrPort().Addr().Unmap()
		return !slices.ContainsFunc(p.nets, func(n netip.Prefix) bool {
			return n.Contains(addr) && (local || addr.Is6() || from.Is6() || n.Contains(from))
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
