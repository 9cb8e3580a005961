// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// bridge is one life of a gateway. The simulated network has a machine for each of its
// nodes, and whatever happens to the gateway happens to all of them.
type bridge struct {
	patterns.Messenger // its node in the first network
	*gateway.Gateway
	timed    // all machines of a gateway have one clock
	networks []string
	machines []string // in the order of networks
}

var (
	_ play.Participant = (*bridge)(nil)
	_ play.Border      = (*bridge)(nil)
)

// side joins a gateway's name and a network's to the name of a machine. Names in
// scenarios have no dots.
const side = "."

// ownerOf is the node, or the gateway, that a machine belongs to.
func ownerOf(machine string) string {
	name, _, _ := strings.Cut(machine, side)
	return name
}

// bridges are the gateways of a world. Methods may be called concurrently.
type bridges struct {
	w *World // immutable

	mu    sync.Mutex
	last  map[string]*bridge // guarded by mu; by name, the last life of each
	names map[string]string  // guarded by mu; of networks, by their ids
}

// start starts a gateway.
func (s *bridges) start(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	cfg := gateway.Config{Logger: s.w.log(spec.Name)}
	b := &bridge{}
	for _, n := range spec.Gateway.Networks {
		machine := spec.Name + side + n.Name
		at, err := s.w.equip(play.NodeSpec{Name: machine, Network: n.File, Seeds: n.Seeds, Near: spec.Near, Adversary: spec.Adversary})
		if err != nil {
			return nil, err
		}
		cfg.Networks = append(cfg.Networks, gateway.Network{Name: n.Name, Node: at})
		s.mu.Lock()
		s.names[string(n.File.ID[:])] = n.Name
		s.mu.Unlock()
		b.networks, b.machines, b.clock = append(b.networks, n.Name), append(b.machines, machine), at.Seam.Clock
	}
	for _, l := range spec.Gateway.Lend {
		if l.Topic != "" {
			cfg.Topics = append(cfg.Topics, topicsOf(l))
		} else {
			cfg.Crossings = append(cfg.Crossings, crossingOf(l))
		}
	}
	g, err := gateway.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("gateway %s: %w", spec.Name, err)
	}
	b.Gateway, b.Messenger = g, g.Node(b.networks[0])
	if err := g.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("gateway %s: %w", spec.Name, err), g.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[spec.Name] = b
	return b, nil
}

func crossingOf(l scenario.Lend) gateway.Crossing {
	return gateway.Crossing{
		From: l.From, To: l.To, Cluster: l.Cluster, As: l.As, Priority: l.Priority, Transit: l.Transit, Reseal: true,
		Limits: gateway.Limits{Messages: l.Messages, Bytes: int(l.Bytes), InFlight: l.InFlight, Tunnels: l.Tunnels},
	}
}

func topicsOf(l scenario.Lend) gateway.TopicCrossing {
	return gateway.TopicCrossing{
		From: l.From, To: l.To, Topic: l.Topic, As: l.As, Reseal: true,
		Limits: gateway.TopicLimits{Messages: l.Messages, Bytes: int(l.Bytes)},
	}
}

// onMachines names machines in the place of gateways in an action.
func (s *bridges) onMachines(a scenario.Action) scenario.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) == 0 {
		return a
	}
	a.Nodes = s.machines(a.Nodes)
	a.Between = slices.Clone(a.Between)
	for i, names := range a.Between {
		a.Between[i] = s.machines(names)
	}
	return a
}

// machines are those of nodes and gateways. mu is held.
func (s *bridges) machines(names []string) (all []string) {
	for _, name := range names {
		if b := s.last[name]; b != nil {
			all = append(all, b.machines...)
		} else {
			all = append(all, name)
		}
	}
	return all
}

// close closes all that are left.
func (s *bridges) close() error {
	s.mu.Lock()
	last := maps.Clone(s.last)
	s.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(last)) {
		errs = append(errs, last[name].Close())
	}
	return errors.Join(errs...)
}

// Peers implements play.Border.
func (b *bridge) Peers() map[string]string {
	all := make(map[string]string, len(b.networks))
	for _, n := range b.networks {
		all[n] = b.Node(n).Self().String()
	}
	return all
}

// Peer implements play.Participant: a gateway has one for each network.
func (b *bridge) Peer() string { return "" }

// Status implements play.Participant: what all its nodes use together.
func (b *bridge) Status(context.Context) (node.Status, error) {
	var sum node.Status
	for _, n := range b.networks {
		s := b.Node(n).Status()
		for lane := range s.SentBytes {
			sum.SentBytes[lane] += s.SentBytes[lane]
			sum.QueuedBytes[lane] += s.QueuedBytes[lane]
		}
		sum.Peers += s.Peers
		sum.Links = append(sum.Links, s.Links...)
		sum.Anchors.Leases += s.Anchors.Leases
	}
	return sum, nil
}

// Shutdown implements patterns.Messenger.
func (b *bridge) Shutdown(ctx context.Context) error { return b.Gateway.Shutdown(ctx) }

// Close implements patterns.Messenger.
func (b *bridge) Close() error { return b.Gateway.Close() }
