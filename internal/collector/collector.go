// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// garbage is how many bytes may always gather: less would have a relay
	// with little in use look through it all the time. While there is much to do
	// it is more: else a relay that passes 1 GB on would look a hundred times.
	garbage     = 4 << 20
	busyGarbage = 8 << 20
	// There is much to do from when garbage has gathered in less than busyFrom,
	// until it takes longer than busyUntil.
	busyFrom, busyUntil = 250 * time.Millisecond, 2 * time.Second
	// least is what may gather in percent of what is in use: less than a fifth
	// costs more processor time than the memory is worth.
	least = 20
	// normal is Go's default, from which it counts below 4 MiB.
	normal = 100
)

// percent returns how much garbage may gather while so many bytes are in use,
// in percent of them, as GOGC counts it.
func percent(inUse uint64, busy bool) int {
	may := uint64(garbage)
	if busy {
		may = busyGarbage
	}
	return max(least, int(may*100/max(inUse, garbage)))
}

// isBusy says whether there is much to do, if there was, and so long has passed
// since the last collection.
func isBusy(was bool, passed time.Duration) bool {
	if was {
		return passed < busyUntil
	}
	return passed < busyFrom
}

// Pace paces the collector until stop is called, which brings back the setting
// from before. One at a time in a process.
func Pace() (stop func()) {
	p := &pacer{inUse: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, now: normal, last: time.Now()}
	p.before = debug.SetGCPercent(normal)
	p.wait()
	return p.stop
}

// pacer sets the pace after each collection.
type pacer struct {
	before int // immutable

	mu      sync.Mutex
	inUse   []metrics.Sample // guarded by mu, as all below
	now     int
	busy    bool
	last    time.Time // of the last collection
	stopped bool
}

// sentinel is garbage from the beginning.
type sentinel struct{ _ *pacer }

// wait has look called after the next collection.
func (p *pacer) wait() { runtime.AddCleanup(new(sentinel), (*pacer).look, p) }

func (p *pacer) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	metrics.Read(p.inUse)
	now := time.Now()
	p.busy, p.last = isBusy(p.busy, now.Sub(p.last)), now
	if want := percent(p.inUse[0].Value.Uint64(), p.busy); want != p.now {
		p.now = want
		debug.SetGCPercent(want)
	}
	p.wait()
}

func (p *pacer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		debug.SetGCPercent(p.before)
	}
}
