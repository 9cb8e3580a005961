// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// turn is where a goroutine waits that comes from user code: in the simulator
// several come at the same instant, and then who is first must not be up to the
// scheduler. In production nobody waits.
type turn struct {
	wg   sync.WaitGroup
	done func() // made once: a worker takes a turn after each message
}

func newTurn() *turn {
	t := &turn{}
	t.done = t.wg.Done
	return t
}

// take returns in a step of its own, in the order of the key.
func (t *turn) take(x overlay.Exec, name string, n uint64) {
	t.wg.Add(1)
	x.Wake(overlay.ExecKey{Name: name, N: n}, t.done)
	t.wg.Wait()
}
