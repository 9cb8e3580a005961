// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "github.com/arke-mesh/arke/overlay"

// exec implements overlay.Exec: user code and completions are events with the
// caller's keys.
type exec struct{ p *process }

var _ overlay.Exec = (*exec)(nil)

// OrdersUserCode says that goroutines of user code take turns: see package
// patterns/internal/turn.
func (x *exec) OrdersUserCode() {}

// Go implements overlay.Exec.
func (x *exec) Go(k overlay.ExecKey, f func()) bool {
	p := x.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if p.state != stateUp || p.n.stopped || p.workers >= p.n.cfg.Workers {
		return false
	}
	p.workers++
	p.n.soon(x.key(kindGo, k), func() {
		p.n.user.Go(func() {
			defer func() {
				p.n.mu.Lock()
				p.workers--
				p.n.mu.Unlock()
			}()
			f()
		})
	})
	return true
}

// Wake implements overlay.Exec.
func (x *exec) Wake(k overlay.ExecKey, f func()) {
	n := x.p.n
	n.mu.Lock()
	if n.stopped {
		// Nothing is ordered any more; let the node end.
		n.mu.Unlock()
		f()
		return
	}
	n.soon(x.key(kindWake, k), f)
	n.mu.Unlock()
}

func (x *exec) key(kind kind, k overlay.ExecKey) key {
	return key{kind: kind, node: x.p.host.index, n: k.N, name: k.Name}
}
