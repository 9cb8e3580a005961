// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// garbage is how many bytes may always gather: less would have a relay
	// with little in use look through it all the time.
	garbage = 4 << 20
	// least and most bound the percentage of what is in use. Less than a
	// fifth costs more processor time than the memory is worth; the most is
	// Go's default.
	least, most = 20, 100
)

// percent returns how much garbage may gather while so many bytes are in use,
// in percent of them, as GOGC counts it.
func percent(inUse uint64) int {
	if inUse <= garbage {
		return most
	}
	return max(least, int(garbage*100/inUse))
}

// Pace paces the collector until stop is called, which brings back the setting
// from before. One at a time in a process.
func Pace() (stop func()) {
	p := &pacer{inUse: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, now: most}
	p.before = debug.SetGCPercent(most)
	p.wait()
	return p.stop
}

// pacer sets the pace after each collection.
type pacer struct {
	before int // immutable

	mu      sync.Mutex
	inUse   []metrics.Sample // guarded by mu, as all below
	now     int
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
	if want := percent(p.inUse[0].Value.Uint64()); want != p.now {
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
