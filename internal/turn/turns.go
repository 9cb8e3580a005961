// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"hash/fnv"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// Orderer is what an Exec is that decides in which order goroutines of user code
// go on: the simulator's.
type Orderer interface {
	overlay.Exec
	// OrdersUserCode does nothing.
	OrdersUserCode()
}

// Turns hands out turns. Those of nil, which all have in production, are taken at
// once. Methods may be called concurrently.
type Turns struct{ exec overlay.Exec }

// Of returns the turns of an Exec: nil unless it is an Orderer.
func Of(x overlay.Exec) *Turns {
	if _, ok := x.(Orderer); !ok {
		return nil
	}
	return &Turns{x}
}

// Take returns in a step of its own, in the order of the key.
func (t *Turns) Take(name string, n uint64) {
	if t == nil {
		return
	}
	var wg sync.WaitGroup
	wg.Add(1)
	t.exec.Wake(overlay.ExecKey{Name: name, N: n}, wg.Done)
	wg.Wait()
}

// Call is Take for a call that has no number yet: what it is told apart by are
// its subject, its body and what more there is. Those that are alike may as well
// change places.
func (t *Turns) Call(name, subject string, body []byte, more uint64) {
	if t != nil {
		t.Take(name, fingerprint(subject, body)^more)
	}
}

func fingerprint(subject string, body []byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte(subject))
	h.Write([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16)})
	h.Write(body[:min(len(body), 64)])
	return h.Sum64()
}
