// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
)

const (
	// scanEvery is how often interfaces and addresses are looked at; what
	// has changed is announced at once.
	scanEvery = 5 * time.Second
	// repeatGap is how long a node that was found is not reported again,
	// unless its addresses change; maxFound is for how many that is known.
	repeatGap = 10 * time.Second
	maxFound  = 1024
	// maxFoundBy bounds the nodes reported by what one address has said within
	// repeatGap: a machine may have many, but none may have all attention.
	maxFoundBy = 32
)

// StartDiscovery looks for nodes of this network on the local network, if
// Config.MDNS is set, and lets them find this one, until Close. add is called
// for each node found that is not connected, from one goroutine; it must not
// block. What is heard proves nothing: whoever answers a dial does.
//
// Pitfall "mDNS": libp2p's service freezes its addresses at the start, takes
// loopback for no interface, and prints; the library below fails where there
// is no IPv6. So this is a small one of our own.
func (h *Host) StartDiscovery(add func(overlay.Candidate)) error {
	if !h.cfg.MDNS {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != hostRunning {
		return ErrClosed
	}
	d := &discovery{
		host: h, node: h.node, add: add,
		service:  serviceName(h.cfg.Network),
		instance: fmt.Sprintf("%016x", rand.Uint64()),
		packets:  make(chan received, 64),
		pace: pace{jitter: func(d time.Duration) time.Duration {
			return d - d/8 + rand.N(d/4)
		}},
		found: make(map[peer.ID]finding),
	}
	h.wg.Go(d.run)
	return nil
}

// discovery is owned by the goroutine of run.
type discovery struct {
	host     *Host
	node     *assembly
	add      func(overlay.Candidate)
	service  string
	instance string
	packets  chan received

	pace    pace
	places  []place
	socket  *multicast // nil while there is no interface to use
	failed  bool       // the last attempt to open it failed; logged once
	found   map[peer.ID]finding
	shares  shares
	scanned time.Time
}

// finding is what was reported of a node.
type finding struct {
	addrs string
	when  time.Time
}

func (d *discovery) run() {
	defer d.shut()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-d.host.ctx.Done():
			return
		case r := <-d.packets:
			d.hear(r)
		case <-timer.C:
		}
		now := time.Now()
		if now.Sub(d.scanned) >= scanEvery {
			d.scanned = now
			d.scan(now)
		}
		d.speak(now)
		wake := d.scanned.Add(scanEvery)
		if t := d.pace.wake(); !t.IsZero() && t.Before(wake) {
			wake = t
		}
		timer.Reset(time.Until(wake))
	}
}

// scan opens the sockets anew if interfaces or addresses have changed.
func (d *discovery) scan(now time.Time) {
	bound, err := d.node.bound()
	var found []place
	if err == nil {
		found, err = places(bound)
	}
	if err != nil {
		d.host.log.Debug("local interfaces can't be read", zap.Error(err))
		return
	}
	if d.socket != nil && samePlaces(found, d.places) {
		return
	}
	d.shut()
	d.places = found
	d.pace.begin(now, nil)
	if len(found) == 0 {
		return
	}
	d.socket, err = openMulticast(interfacesOf(found), d.packets)
	if err != nil {
		if !d.failed {
			d.host.log.Warn("the local network can't be searched for nodes", zap.Error(err))
		}
		d.failed = true
		return
	}
	d.failed = false
	d.pace.begin(now, d.socket.ifaces)
	d.host.log.Debug("searching the local network", zap.Stringers("places", found))
}

// shut takes back what was announced and closes the sockets.
func (d *discovery) shut() {
	if d.socket == nil {
		return
	}
	for _, p := range d.places {
		d.announce(p, 0)
	}
	d.socket.close()
	d.socket = nil
}

// speak sends what is due.
func (d *discovery) speak(now time.Time) {
	if d.socket == nil {
		return
	}
	ask, answer := d.pace.due(now)
	for _, iface := range answer {
		for _, p := range d.places {
			if p.iface.Index == iface {
				d.announce(p, mdnsTTL)
			}
		}
	}
	if !ask {
		return
	}
	packet, err := query(d.service)
	for _, iface := range d.socket.ifaces {
		d.send(packet, err, iface)
	}
}

func (d *discovery) announce(p place, ttl uint32) {
	packet, err := announcement{d.service, d.instance, d.host.self, p.addrs}.pack(ttl)
	d.send(packet, err, p.iface.Index)
}

func (d *discovery) send(packet []byte, err error, iface int) {
	if err == nil {
		err = d.socket.send(packet, iface)
	}
	if err != nil {
		d.host.log.Debug("nothing could be said on the local network", zap.Int("interface", iface), zap.Error(err))
	}
}

// hear handles one packet.
func (d *discovery) hear(r received) {
	h, err := hear(r.packet, d.service)
	if err != nil {
		d.host.counters.add(countMDNSInvalid)
		return
	}
	now := time.Now()
	if h.asked {
		d.pace.asked(now, r.iface)
	}
	for _, c := range h.found {
		said := len(c.Addrs)
		c.Addrs = d.believable(r, c.Addrs)
		for range said - len(c.Addrs) {
			d.host.counters.add(countMDNSElsewhere)
		}
		if c.Peer == d.host.self || len(c.Addrs) == 0 || d.node.swarm.Connectedness(c.Peer) == network.Connected || !d.fresh(now, c) {
			continue
		}
		if !d.shares.take(now, r.from) {
			d.host.counters.add(countMDNSShare)
			continue
		}
		d.add(c)
	}
}

// believable returns those of addrs that who sent r may be at.
func (d *discovery) believable(r received, addrs []string) []string {
	for _, p := range d.places {
		if p.iface.Index == r.iface {
			return p.believable(r.from, addrs)
		}
	}
	return nil
}

// shares counts what addresses have said.
type shares struct {
	since time.Time
	taken map[netip.Addr]int
}

// take says whether from may have one more node reported.
func (s *shares) take(now time.Time, from netip.Addr) bool {
	if now.Sub(s.since) >= repeatGap || len(s.taken) >= maxFound {
		s.since, s.taken = now, make(map[netip.Addr]int)
	}
	if s.taken[from] >= maxFoundBy {
		return false
	}
	s.taken[from]++
	return true
}

// fresh says whether c is worth a report.
func (d *discovery) fresh(now time.Time, c overlay.Candidate) bool {
	f := finding{strings.Join(c.Addrs, " "), now}
	if old, ok := d.found[c.Peer]; ok && old.addrs == f.addrs && now.Sub(old.when) < repeatGap {
		return false
	}
	if len(d.found) >= maxFound {
		clear(d.found)
	}
	d.found[c.Peer] = f
	return true
}
