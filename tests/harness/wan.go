// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// WAN joins clouds, each a LAN with a network of its own, by lines that are long: each
// machine reaches each other one, and what leaves a cloud goes through this process.
// The kernels' TCP is real; the lines are a delay and, where the model says so, a
// bottleneck in front of it.
type WAN struct {
	t      TB
	clouds []*Cloud
	wg     sync.WaitGroup

	mu    sync.Mutex
	lines map[way]*sending // guarded by mu
	cut   map[int]bool     // guarded by mu: clouds that nothing reaches or leaves
}

// way is a pair of subnets, in one direction.
type way struct{ from, to int }

// Cloud is one of a WAN.
type Cloud struct {
	*LAN
	*Network
	Name string
	wide io.ReadWriteCloser // where packets leave
}

// Line is what lies between two clouds, in each direction.
type Line struct {
	Delay time.Duration // one way
	Mbps  int           // 10⁶ bits a second; 0 = unbounded
	Queue int           // bytes that may wait for the bottleneck; 0 = any number
}

// passes is how long so many bytes take to pass the bottleneck.
func (l Line) passes(size int) time.Duration {
	if l.Mbps == 0 {
		return 0
	}
	return time.Duration(size*8000/l.Mbps) * time.Nanosecond
}

// sending is one direction between two clouds.
type sending struct {
	Line
	free    time.Time // when the bottleneck has sent what waits for it
	parcels chan parcel
}

type parcel struct {
	due    time.Time
	packet []byte
}

// lineParcels bounds what is on a line: 80 ms at 100 Mbit/s are 700 packets.
const lineParcels = 16384

// NewWAN makes one without clouds.
func NewWAN(t TB) *WAN {
	w := &WAN{t: t, lines: map[way]*sending{}, cut: map[int]bool{}}
	t.Cleanup(w.close)
	return w
}

// Cloud adds one, with a network of its own, or skips the test where that is not possible.
func (w *WAN) Cloud(name string) *Cloud {
	w.t.Helper()
	subnet := len(w.clouds) + 1
	c := &Cloud{LAN: newLAN(w.t, subnet), Network: newNetwork(w.t, name), Name: name}
	setUp(w.t, c.LAN.name, "addr add "+c.address(254)+"/24 dev switch", "tuntap add dev wide mode tun", "link set wide mtu 1400 up", "route add 10.88.0.0/16 dev wide")
	wide, err := openWide(c.LAN.name, "wide")
	if err != nil {
		w.t.Skipf("a device for what leaves a cloud is not possible here: %v", err)
	}
	c.wide = wide
	w.clouds = append(w.clouds, c)
	w.wg.Go(func() { w.carry(c) })
	return c
}

// Machine puts one more machine into the cloud; it reaches all others.
func (c *Cloud) Machine() *Machine {
	m := c.LAN.Machine()
	setUp(c.LAN.t, m.name, "route add default via "+c.address(254))
	return m
}

// Join lays a line between two clouds. Without one nothing passes.
func (w *WAN) Join(a, b *Cloud, with Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ends := range [][2]*Cloud{{a, b}, {b, a}} {
		l := &sending{Line: with, parcels: make(chan parcel, lineParcels)}
		w.lines[way{ends[0].subnet, ends[1].subnet}] = l
		w.wg.Go(func() { l.deliver(ends[1].wide) })
	}
}

// Cut takes a cloud off the others; what is on the lines arrives.
func (w *WAN) Cut(c *Cloud) { w.setCut(c, true) }

// Heal joins it to them again.
func (w *WAN) Heal(c *Cloud) { w.setCut(c, false) }

func (w *WAN) setCut(c *Cloud, off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[c.subnet] = off
}

// carry puts what leaves a cloud on the lines.
func (w *WAN) carry(c *Cloud) {
	buf := make([]byte, 1<<16)
	for {
		n, err := c.wide.Read(buf)
		if err != nil {
			return
		}
		if n < 20 || buf[0]>>4 != 4 {
			continue // nothing but IPv4
		}
		w.send(way{c.subnet, int(buf[18])}, buf[:n])
	}
}

func (w *WAN) send(on way, packet []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[on]
	if l == nil || w.cut[on.from] || w.cut[on.to] {
		return
	}
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	if l.Queue > 0 && l.free.Sub(now) > l.passes(l.Queue) {
		return // as a router does whose queue is full
	}
	l.free = l.free.Add(l.passes(len(packet)))
	select {
	case l.parcels <- parcel{l.free.Add(l.Delay), append([]byte(nil), packet...)}:
	default:
	}
}

// deliver hands over what arrives, in order.
func (l *sending) deliver(to io.Writer) {
	for p := range l.parcels {
		time.Sleep(time.Until(p.due))
		_, _ = to.Write(p.packet)
	}
}

// close ends the lines and waits.
func (w *WAN) close() {
	for _, c := range w.clouds {
		_ = c.wide.Close()
	}
	w.mu.Lock()
	for on, l := range w.lines {
		delete(w.lines, on) // nobody sends any more
		close(l.parcels)
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// Gateway starts a gateway on a machine, with a node in the network of each of the
// clouds: it dials their relays, the seeds, and is dialled at its machine's address. lend
// has a line of YAML for each crossing.
func (w *WAN) Gateway(name string, on *Machine, seeds map[*Cloud]*Relay, lend ...string) *Gateway {
	w.t.Helper()
	var nodes []GatewayNode
	for _, c := range w.clouds {
		if seed := seeds[c]; seed != nil {
			nodes = append(nodes, GatewayNode{c.Name, c.Network, fmt.Sprintf("/ip4/%s/tcp/%d", on.addr, MachinePort+c.subnet), seed.cfg.on.At(MachinePort), ""})
		}
	}
	return startGateway(w.t, name, on.wrap, nodes, lend)
}
