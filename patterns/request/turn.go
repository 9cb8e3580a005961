// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"hash/fnv"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// turn is where a goroutine waits that comes from user code: user code calls
// and returns whenever it likes, in the simulator often several goroutines at
// the same instant, and then who is first must not be up to the scheduler. In
// production nobody waits.
type turn struct{ wg sync.WaitGroup }

// take returns in a step of its own, in the order of the key.
func (t *turn) take(x overlay.Exec, name string, n uint64) {
	t.wg.Add(1)
	x.Wake(overlay.ExecKey{Name: name, N: n}, t.wg.Done)
	t.wg.Wait()
}

// fingerprint tells what is asked apart while it has no number yet. Those that
// it can't tell apart may as well change places.
func (a *Ask) fingerprint() uint64 {
	h, body := fnv.New64a(), a.Message.Body
	h.Write([]byte(a.Cluster))
	h.Write([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), byte(a.Pattern)})
	h.Write(body[:min(len(body), 64)])
	if a.To == nil {
		return h.Sum64()
	}
	return h.Sum64() ^ uint64(a.To.ID)
}
