// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"fmt"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/sim/play"
)

// The methods below are for tests: what goes wrong ends the test that Run was
// given.

// Add starts a node, and returns when it runs. It finds the others through the
// first one that was added.
func (w *World) Add(name string) *node.Node {
	w.t.Helper()
	file, err := Network(w.cfg.Seed, "")
	if err != nil {
		w.t.Fatal(err)
	}
	spec := play.NodeSpec{Name: name, Network: file}
	w.mu.Lock()
	if len(w.order) > 0 && w.order[0] != name {
		spec.Seeds = w.order[:1:1]
	}
	w.mu.Unlock()
	p, err := w.create(spec)
	if err == nil {
		err = p.Node.Start(context.Background())
	}
	if err != nil {
		w.t.Fatalf("world: %s: %v", name, err)
	}
	return p.Node
}

// AddMany starts count nodes called prefix1, prefix2 and so on.
func (w *World) AddMany(prefix string, count int) []*node.Node {
	w.t.Helper()
	all := make([]*node.Node, count)
	for i := range all {
		all[i] = w.Add(fmt.Sprint(prefix, i+1))
	}
	return all
}

// Node is the node of that name as it was started last.
func (w *World) Node(name string) *node.Node {
	w.t.Helper()
	w.mu.Lock()
	p := w.nodes[name]
	w.mu.Unlock()
	if p == nil {
		w.t.Fatalf("world: there is no node %q; Add makes it", name)
	}
	return p.Node
}

// Crash kills a node: its connections are reset. Add brings it back.
func (w *World) Crash(name string) {
	w.t.Helper()
	w.n.Crash(name)
	if err := w.Node(name).Close(); err != nil {
		w.t.Errorf("world: %s: %v", name, err)
	}
}

// Silence takes a node away without a word, as a power loss does.
func (w *World) Silence(name string) {
	w.t.Helper()
	w.n.Silence(name)
	if err := w.Node(name).Close(); err != nil {
		w.t.Errorf("world: %s: %v", name, err)
	}
}
