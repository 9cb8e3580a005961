// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"net/netip"
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// network carries bytes between machines, in place of kernels and cables.
// Nobody waits while holding its lock.
type network struct {
	// Immutable after newNetwork.
	seed  uint64
	begun time.Time

	mu       sync.Mutex
	model    func(from, to string) link.Model // guarded by mu
	machines []*machine                       // guarded by mu, as everything reached from here
	byName   map[string]*machine
	byIP     map[netip.Addr]*machine
	paths    map[ends]*path
	lossless bool // no link loses anything any more
}

// ends are the machines of a path.
type ends struct{ from, to *machine }

func newNetwork(seed uint64, model link.Model) *network {
	return &network{
		seed: seed, begun: time.Now(),
		model:  func(string, string) link.Model { return model },
		byName: make(map[string]*machine),
		byIP:   make(map[netip.Addr]*machine),
		paths:  make(map[ends]*path),
	}
}

// now is the time since the network was made.
func (n *network) now() time.Duration { return time.Since(n.begun) }

// machine returns the machine of that name, which is made if need be. It needs
// mu.
func (n *network) machine(name string) *machine {
	if m := n.byName[name]; m != nil {
		return m
	}
	number := len(n.machines) + 1
	m := &machine{
		net: n, name: name, port: firstPort,
		ip:    netip.AddrFrom4([4]byte{10, byte(number >> 16), byte(number >> 8), byte(number)}),
		clock: newSkewed(),
	}
	n.machines = append(n.machines, m)
	n.byName[name], n.byIP[m.ip] = m, m
	return m
}

// path returns the path from one machine to another one. It needs mu.
func (n *network) path(from, to *machine) *path {
	key := ends{from, to}
	p := n.paths[key]
	if p == nil {
		var m link.Model
		if from != to {
			if m = n.model(from.name, to.name); n.lossless {
				m.Loss = 0
			}
		}
		p = &path{net: n, link: link.NewDirection(m, n.seed, from.name, to.name)}
		n.paths[key] = p
	}
	return p
}

// between calls f for each path from one of the first to one of the others. It
// needs mu.
func (n *network) between(from, to []string, f func(*path)) {
	for _, a := range from {
		for _, b := range to {
			if a != b {
				f(n.path(n.machine(a), n.machine(b)))
			}
		}
	}
}

// setModels changes the links of all paths, known and unknown.
func (n *network) setModels(of func(from, to string) link.Model) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.model = of
	for key, p := range n.paths {
		if key.from != key.to {
			p.link.SetModel(of(key.from.name, key.to.name))
		}
	}
}

// heal ends all cuts and clogs. It needs mu.
func (n *network) heal() {
	for _, p := range n.paths {
		p.set(&p.cut, false)
		p.set(&p.clogged, false)
	}
}
