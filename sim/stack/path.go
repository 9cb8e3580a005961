// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"

	"github.com/arke-mesh/arke/sim/link"
)

// path is one direction between two machines. Guarded by network.mu.
type path struct {
	net     *network
	link    *link.Direction
	cut     bool // what arrives is lost
	clogged bool // what arrives is held
	corrupt int  // deliveries that will be corrupted
	stalled []*flow
}

// blocked reports whether nothing passes.
func (p *path) blocked() bool { return p.cut || p.clogged }

// set changes cut or clogged.
func (p *path) set(field *bool, on bool) {
	*field = on
	if p.blocked() {
		return
	}
	stalled := p.stalled
	p.stalled = nil
	for _, f := range stalled {
		f.mended()
	}
}

// stall has f told when nothing blocks the path any more.
func (p *path) stall(f *flow) {
	if !slices.Contains(p.stalled, f) {
		p.stalled = append(p.stalled, f)
	}
}
