// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"hash/fnv"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// turn is where a goroutine waits that comes from user code: user code calls
// whenever it likes, in the simulator often several goroutines at the same
// instant, and then who is first must not be up to the scheduler. In
// production nobody waits.
type turn struct{ wg sync.WaitGroup }

// take returns in a step of its own, in the order of the key.
func (t *turn) take(x overlay.Exec, name string, n uint64) {
	t.wg.Add(1)
	x.Wake(overlay.ExecKey{Name: name, N: n}, t.wg.Done)
	t.wg.Wait()
}

// fingerprint tells calls apart that have no number yet. Those that it can't
// tell apart may as well change places.
func fingerprint(name string, body []byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16)})
	h.Write(body[:min(len(body), 64)])
	return h.Sum64()
}
