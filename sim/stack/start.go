// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/play"
)

// maxWorkers bounds the handlers that a node runs at once, as in production.
const maxWorkers = 16384

// Start implements play.Level.
func (s *Stack) Start(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	p, err := s.create(spec)
	if err == nil {
		if err = p.Node.Start(ctx); err != nil {
			_ = p.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", spec.Name, err)
	}
	return p, nil
}

// create makes one life of a node.
func (s *Stack) create(spec play.NodeSpec) (*participant, error) {
	key, err := security.GenerateNodeKey(source(s.cfg.Seed, "key", spec.Name))
	if err != nil {
		return nil, err
	}
	network, err := s.network(spec.Network)
	if err != nil {
		return nil, err
	}
	p, seeds, err := s.boot(spec)
	if err != nil {
		return nil, err
	}
	log := s.cfg.Logger.Named(spec.Name)
	host, err := p2p.New(p2p.Config{
		Key: key, Network: network, Sockets: p.proc, Listen: []string{p.proc.machine.addr(nodePort).String()}, Logger: log,
	})
	if err == nil {
		p.host = host
		seam := overlay.Seam{
			Transport: &transport{host, p.clock}, Router: host.Router(), Clock: p.clock, Exec: p.workers,
			Rand: newRandom(s.cfg.Seed, fmt.Sprint(spec.Name, " ", p.incarnation)),
		}
		p.Node, err = node.New(node.Config{
			Network: spec.Network, Zone: spec.Zone, ClusterKeys: spec.ClusterKeys, Seeds: seeds,
			Seam: &seam, Incarnation: p.incarnation, Heartbeat: s.cfg.Heartbeat, Logger: log,
		})
	}
	if err != nil {
		p.exit()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.exit()
		return nil, p2p.ErrClosed
	}
	s.lives = append(s.lives, p)
	return p, nil
}

// boot starts the process of a node, which then has sockets and a clock. It
// returns the addresses of the seeds too.
func (s *Stack) boot(spec play.NodeSpec) (*participant, []string, error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	m := s.net.machine(spec.Name)
	if m.alive() {
		return nil, nil, fmt.Errorf("it is running already")
	}
	var seeds []string
	for _, name := range spec.Seeds {
		seeds = append(seeds, s.net.machine(name).addr(nodePort).String())
	}
	proc := m.boot()
	return &participant{
		stack: s, proc: proc, incarnation: m.incarnation, clock: m.clock.boot(), workers: overlay.NewWorkers(maxWorkers),
	}, seeds, nil
}

// network returns what nodes with that file share, so that each proof is
// checked once.
func (s *Stack) network(file security.NetworkFile) (*security.Network, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(file.Encode())
	if known := s.files[text]; known != nil {
		return known, nil
	}
	made, err := security.NewNetwork(file)
	if err == nil {
		s.files[text] = made
	}
	return made, err
}

// forget takes a life that is over out of the list.
func (s *Stack) forget(p *participant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = slices.DeleteFunc(slices.Clone(s.lives), func(q *participant) bool { return p == q })
}
