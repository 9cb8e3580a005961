// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"hash/fnv"

	"github.com/arke-mesh/arke/overlay"
)

// spawn runs f on a goroutine that Close waits for. In package sim each begins in a step
// of its own, so that two that one event begins do not race for the nodes' numbers. The
// workers of a node are for handlers and bounded, so they are not used for it.
func (g *Gateway) spawn(key overlay.ExecKey, f func()) {
	g.wg.Add(1)
	run := func() {
		defer g.wg.Done()
		f()
	}
	if g.exec == nil || !g.exec.Go(key, run) {
		go run()
	}
}

// stepwise is cancel, which in package sim is a step of its own: of several goroutines
// that one event stops none races the others.
func (g *Gateway) stepwise(key overlay.ExecKey, cancel func()) func() {
	if g.exec == nil {
		return cancel
	}
	return func() { g.exec.Wake(key, cancel) }
}

// loanNumber tells a loan from the others in keys of package sim.
func loanNumber(l *loan) uint64 { return numberOf(l.what.String() + "/" + string(l.origin[:])) }

func numberOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}
