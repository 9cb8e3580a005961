// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"sync"
	"time"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/internal/adversary"
	"github.com/arke-mesh/arke/sim/play"
)

// foes are the adversaries of a world, and nodes with chosen keys. Methods may be
// called concurrently.
type foes struct {
	// Immutable.
	n    *sim.Network
	seed uint64

	mu     sync.Mutex
	placed map[string]bool                 // guarded by mu; whose key was chosen
	orders map[string][]adversary.Order    // guarded by mu; that stand, by name
	lives  map[string]*adversary.Adversary // guarded by mu; the last life of each
}

func newFoes(n *sim.Network, seed uint64) *foes {
	return &foes{
		n: n, seed: seed, placed: make(map[string]bool), orders: make(map[string][]adversary.Order), lives: make(map[string]*adversary.Adversary),
	}
}

// place chooses the key of a node that has not lived yet, so that it becomes an
// anchor of a cluster, as far as the keys that it holds tell where that is.
func (f *foes) place(spec play.NodeSpec, network *security.Network) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if spec.Near == "" || f.placed[spec.Name] {
		return nil
	}
	key, err := adversary.Near(keysOf(spec, network, spec.Near), time.Now(), play.Random(f.seed, "near "+spec.Name))
	if err != nil {
		return fmt.Errorf("node %s: %w", spec.Name, err)
	}
	if !f.n.SetKey(spec.Name, key) {
		return fmt.Errorf("node %s: something was done to it before it started: its key can't be chosen any more", spec.Name)
	}
	f.placed[spec.Name] = true
	return nil
}

// turn puts an adversary between a node and its seam, if it is to be one.
func (f *foes) turn(spec play.NodeSpec, network *security.Network, seam *overlay.Seam) {
	if spec.Adversary == nil {
		return
	}
	a := adversary.New(adversary.Config{
		Seam: *seam, Network: network, Acted: spec.Adversary.Acted,
		Cluster: func(name string) *security.Cluster { return keysOf(spec, network, name) },
	})
	*seam = a.Seam()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lives[spec.Name] = a
	for _, o := range f.orders[spec.Name] {
		a.Obey(o)
	}
}

// attack gives an order to a node that is an adversary, for this life and those
// to come.
func (f *foes) attack(name string, o adversary.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.orders[name] = append(f.orders[name], o); o.Mode == "" {
		delete(f.orders, name)
	}
	if a := f.lives[name]; a != nil {
		a.Obey(o)
	}
}

// keysOf are the keys that a node holds for a cluster.
func keysOf(spec play.NodeSpec, network *security.Network, cluster string) *security.Cluster {
	if keys := spec.ClusterKeys[cluster]; len(keys) > 0 {
		return security.NewCluster(cluster, keys)
	}
	return network.Cluster(cluster)
}
