// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// delays are what an engine does later: nothing of it is left once the engine has ended.
// Methods may be called concurrently.
type delays struct {
	mu     sync.Mutex
	timers map[uint64]overlay.Timer // guarded by mu; by number
	last   uint64                   // guarded by mu
	over   bool                     // guarded by mu
}

// add has f called after d, unless stop comes before.
func (l *delays) add(clock overlay.Clock, label string, d time.Duration, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if l.timers == nil {
		l.timers = make(map[uint64]overlay.Timer)
	}
	l.last++
	number := l.last
	l.timers[number] = clock.AfterFunc(label, d, func() {
		if l.take(number) {
			f()
		}
	})
}

// take says that a timer is due which was not stopped.
func (l *delays) take(number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, there := l.timers[number]
	delete(l.timers, number)
	return there
}

// stop forgets all of it. It does not wait for what is being done.
func (l *delays) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(l.timers)) {
		l.timers[number].Stop()
	}
	l.timers, l.over = nil, true
}
