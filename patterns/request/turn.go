// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/arke-mesh/arke/patterns/internal/turn"

// fingerprint tells what is asked apart while it has no number yet.
func (a *Ask) fingerprint() uint64 {
	n := turn.Fingerprint(a.Cluster, a.Message.Body, byte(a.Pattern))
	if a.To == nil {
		return n
	}
	return n ^ uint64(a.To.ID)
}

// takeTurn is for goroutines that come from user code.
func (e *Engine) takeTurn(name string, n uint64) { e.turns.Take(e.cfg.Exec, name, n) }
