// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// Where mDNS happens (RFC 6762 section 3).
const mdnsPort = 5353

func mdnsGroup4() *net.UDPAddr { return &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: mdnsPort} }
func mdnsGroup6() *net.UDPAddr { return &net.UDPAddr{IP: net.ParseIP("ff02::fb"), Port: mdnsPort} }

// received is a packet, the interface that it came through, and who sent it.
type received struct {
	packet []byte
	iface  int
	from   netip.Addr
}

// multicast sends and receives on a fixed set of interfaces, with IPv4 and
// IPv6 as far as they have it.
type multicast struct {
	ifaces []int
	v4     *ipv4.PacketConn // or nil
	v6     *ipv6.PacketConn // or nil

	closed chan struct{}
	wg     sync.WaitGroup // readers
}

// openMulticast joins the group on all interfaces; packets arrive at to. One
// family on one interface is enough for success.
func openMulticast(ifaces []net.Interface, to chan<- received) (*multicast, error) {
	m := &multicast{closed: make(chan struct{})}
	err4, err6 := m.join4(ifaces), m.join6(ifaces)
	if m.v4 == nil && m.v6 == nil {
		return nil, fmt.Errorf("p2p: mdns: %w", errors.Join(err4, err6))
	}
	for _, i := range ifaces {
		m.ifaces = append(m.ifaces, i.Index)
	}
	if m.v4 != nil {
		m.wg.Go(func() {
			m.read(to, func(b []byte) (int, int, net.Addr, error) {
				n, cm, from, err := m.v4.ReadFrom(b)
				if cm == nil {
					return n, 0, from, err
				}
				return n, cm.IfIndex, from, err
			})
		})
	}
	if m.v6 != nil {
		m.wg.Go(func() {
			m.read(to, func(b []byte) (int, int, net.Addr, error) {
				n, cm, from, err := m.v6.ReadFrom(b)
				if cm == nil {
					return n, 0, from, err
				}
				return n, cm.IfIndex, from, err
			})
		})
	}
	return m, nil
}

// join4 sets v4 if any interface joins. The address to listen at is multicast
// because package net then shares the port with the other programs that do
// mDNS, and binds to every address.
func (m *multicast) join4(ifaces []net.Interface) error {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(224, 0, 0, 0), Port: mdnsPort})
	if err != nil {
		return err
	}
	p := ipv4.NewPacketConn(c)
	err = errors.Join(
		p.SetControlMessage(ipv4.FlagInterface, true),
		p.SetMulticastTTL(255),
		p.SetMulticastLoopback(true), // other nodes on this machine
	)
	joined := 0
	for _, i := range ifaces {
		if joinErr := p.JoinGroup(&i, mdnsGroup4()); joinErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", i.Name, joinErr))
			continue
		}
		joined++
	}
	if joined == 0 {
		return errors.Join(err, c.Close())
	}
	m.v4 = p
	return nil
}

// join6 is join4 for IPv6.
func (m *multicast) join6(ifaces []net.Interface) error {
	c, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.ParseIP("ff02::"), Port: mdnsPort})
	if err != nil {
		return err
	}
	p := ipv6.NewPacketConn(c)
	err = errors.Join(
		p.SetControlMessage(ipv6.FlagInterface, true),
		p.SetMulticastHopLimit(255),
		p.SetMulticastLoopback(true),
	)
	joined := 0
	for _, i := range ifaces {
		if joinErr := p.JoinGroup(&i, mdnsGroup6()); joinErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", i.Name, joinErr))
			continue
		}
		joined++
	}
	if joined == 0 {
		return errors.Join(err, c.Close())
	}
	m.v6 = p
	return nil
}

// send multicasts a packet on one interface. It succeeds if one family does.
func (m *multicast) send(packet []byte, iface int) error {
	var errs []error
	if m.v4 != nil {
		_, err := m.v4.WriteTo(packet, &ipv4.ControlMessage{IfIndex: iface}, mdnsGroup4())
		errs = append(errs, err)
	}
	if m.v6 != nil {
		_, err := m.v6.WriteTo(packet, &ipv6.ControlMessage{IfIndex: iface}, mdnsGroup6())
		errs = append(errs, err)
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return fmt.Errorf("p2p: mdns: %w", errors.Join(errs...))
}

// read passes packets on until the sockets are closed. What came through
// another interface is none of ours; what nobody has time for is dropped, it
// will be said again.
func (m *multicast) read(to chan<- received, next func([]byte) (n, iface int, from net.Addr, _ error)) {
	buf := make([]byte, 9000)
	for {
		n, iface, from, err := next(buf)
		select {
		case <-m.closed:
			return
		default:
		}
		switch {
		case err != nil:
			time.Sleep(acceptPause) // such as an interface that is going down
		case slices.Contains(m.ifaces, iface):
			select {
			case to <- received{slices.Clone(buf[:n]), iface, addrOf(from)}:
			default:
			}
		}
	}
}

// addrOf is the IP address of who sent a packet.
func addrOf(a net.Addr) netip.Addr {
	udp, ok := a.(*net.UDPAddr)
	if !ok {
		return netip.Addr{}
	}
	return udp.AddrPort().Addr().Unmap().WithZone("")
}

// close leaves the group and waits for the readers.
func (m *multicast) close() {
	close(m.closed)
	if m.v4 != nil {
		_ = m.v4.Close()
	}
	if m.v6 != nil {
		_ = m.v6.Close()
	}
	m.wg.Wait()
}
