// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"runtime"
	"sync"
)

// shakenMutex is a mutex of which a shaken run takes care that goroutines which run at
// the same instant come to it in another order than they would. Who is alone in a step, as
// everybody should be, comes first whatever happens, so a run that replays is the same
// shaken or not; and one that does not replay differs nearly always, and not only when
// the machine is busy.
type shakenMutex struct {
	sync.Mutex
	shaken bool // immutable once the mutex is used
}

// shakeOf is how many goroutines that come to a mutex one lets all others go first.
const shakeOf = 4

// Lock implements sync.Locker.
func (m *shakenMutex) Lock() {
	if m.shaken && rand.Uint32N(shakeOf) == 0 {
		// Twice: the first may be what the goroutine that woke this one was to
		// go on with.
		runtime.Gosched()
		runtime.Gosched()
	}
	m.Mutex.Lock()
}
