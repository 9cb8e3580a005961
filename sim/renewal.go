// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

var _ overlay.Renewer = (*transport)(nil)

// KeysChanged tells that the node's Admission accepts and shows other keys than before:
// connections with peers whom none of them has admitted break.
func (t *transport) KeysChanged() error {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if p.state != stateUp || p.host.admission == nil {
		return nil
	}
	clear(p.n.proofs)
	accepted, _, _ := p.host.admission.Versions()
	for _, c := range p.all() {
		if end := c.endOf(p); !c.local() && !slices.Contains(accepted, c.keys[end]) {
			c.breakEnd(end, ErrConnLost, true)
		}
	}
	return nil
}

// Retire implements overlay.Renewer.
func (t *transport) Retire(id peer.ID) (retired bool) {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	h := p.n.byPeer[id]
	if h == nil || p.host.admission == nil {
		return false
	}
	_, seals, _ := p.host.admission.Versions()
	for _, c := range p.conns[h.index] {
		if end := c.endOf(p); c.keys[end] < seals {
			c.retired[end], retired = true, true
		}
	}
	return retired
}

// Settle implements overlay.Renewer.
func (t *transport) Settle(id peer.ID, replaced bool) {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	h := p.n.byPeer[id]
	if h == nil {
		return
	}
	for _, c := range slices.Clone(p.conns[h.index]) {
		switch end := c.endOf(p); {
		case !c.retired[end]:
		case replaced:
			c.breakEnd(end, ErrConnLost, true)
		default:
			c.retired[end] = false
		}
	}
}

// usable is a connection to h that takes new streams, or nil.
func usable(p *process, h *host) *conn {
	for _, c := range p.conns[h.index] {
		if !c.retired[c.endOf(p)] {
			return c
		}
	}
	return nil
}
