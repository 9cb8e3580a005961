// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"hash/fnv"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// Turns hands out turns. It keeps them for reuse, because one is taken for each
// message. The zero value is ready; methods may be called concurrently.
type Turns struct{ pool sync.Pool }

// one is where a goroutine waits.
type one struct {
	wg   sync.WaitGroup
	done func() // wg.Done
}

// Take returns in a step of its own, in the order of the key.
func (p *Turns) Take(x overlay.Exec, name string, n uint64) {
	t, ok := p.pool.Get().(*one)
	if !ok {
		t = &one{}
		t.done = t.wg.Done
	}
	t.wg.Add(1)
	x.Wake(overlay.ExecKey{Name: name, N: n}, t.done)
	t.wg.Wait()
	p.pool.Put(t)
}

// Fingerprint tells calls apart that have no number yet: by their name, their
// body and what more there is. Those that it can't tell apart may as well change
// places.
func Fingerprint(name string, body []byte, more ...byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16)})
	h.Write(more)
	h.Write(body[:min(len(body), 64)])
	return h.Sum64()
}
