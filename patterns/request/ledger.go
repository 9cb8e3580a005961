// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/histogram"
	"github.com/arke-mesh/arke/patterns"
)

// MaxLedgers is how many clusters are counted by themselves. What goes to further
// ones is counted together, under the name OtherClusters, so that whoever makes up
// names fills neither the memory nor what is scraped.
const MaxLedgers = 1000

// OtherClusters stands for all clusters beyond MaxLedgers.
const OtherClusters = "other"

// Ledger counts how the requests to one cluster ended that were made here. Pushes,
// surveys and what else goes to members is not in it. Methods may be called
// concurrently.
type Ledger struct {
	Cluster string // OtherClusters, if Other
	Other   bool   // it is for all clusters beyond MaxLedgers

	outcomes [patterns.OutcomeCount]atomic.Uint64
	took     histogram.Histogram
}

// Outcome returns how many ended like that.
func (t *Ledger) Outcome(o patterns.Outcome) uint64 { return t.outcomes[o].Load() }

// Took reads how long those took that got a reply, or a refusal of the handler.
func (t *Ledger) Took(s *histogram.Snapshot) { t.took.Read(s) }

// count counts a request that ended so after that time.
func (t *Ledger) count(o patterns.Outcome, took time.Duration) {
	t.outcomes[o].Add(1)
	if o == patterns.OutcomeReply || o == patterns.OutcomeRemoteError {
		t.took.Observe(took)
	}
}

// ledgers has a Ledger for each cluster. It outlives routes, which are forgotten
// when nobody uses them: counters never go back.
type ledgers struct {
	other  Ledger
	beyond atomic.Uint64

	mu sync.RWMutex
	of map[string]*Ledger // guarded by mu
}

// get returns the cluster's.
func (t *ledgers) get(name string) *Ledger {
	t.mu.RLock()
	found, full := t.of[name], len(t.of) >= MaxLedgers
	t.mu.RUnlock()
	switch {
	case found != nil:
		return found
	case full:
		t.beyond.Add(1)
		return &t.other
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found = t.of[name]; found != nil {
		return found
	}
	if t.of == nil {
		t.of = make(map[string]*Ledger)
	}
	found = &Ledger{Cluster: name}
	t.of[name] = found
	return found
}

// Ledgers returns those of all clusters that were called from here, by name, with
// that of the others last if there are any. They go on counting.
func (e *Engine) Ledgers() []*Ledger {
	t := &e.calls.ledgers
	t.mu.RLock()
	all := sorted(t.of)
	t.mu.RUnlock()
	if t.beyond.Load() > 0 {
		all = append(all, &t.other)
	}
	return all
}

// tell counts how a call ended, if it is a request. No ledger counts nothing.
func (l *Ledger) tell(c *call, err error) {
	if l == nil || c.pattern != patterns.PatternRequest {
		return
	}
	o := patterns.OutcomeReply
	if err != nil {
		o = patterns.OutcomeOf(err)
	}
	l.count(o, time.Duration(c.now()-c.began))
}

// refuse counts a request that is too large to be sent anywhere.
func (t *ledgers) refuse(a *Ask, err error) {
	if a.Pattern == patterns.PatternRequest && errors.Is(err, patterns.ErrTooLarge) {
		t.get(a.Cluster).count(patterns.OutcomeTooLarge, 0)
	}
}

// Filled returns a Ledger with these counts, and durations of 1 ms, for tests of
// those who read one.
func Filled(name string, counts map[patterns.Outcome]int) *Ledger {
	l := &Ledger{Cluster: name}
	for o, n := range counts {
		for range n {
			l.count(o, time.Millisecond)
		}
	}
	return l
}
