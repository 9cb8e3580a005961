// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/bench/system"
)

// silence is how long nothing must come before what is missing counts as lost.
const silence = 1500 * time.Millisecond

// subscribe is the role.
func subscribe(t *talk, sys system.System, job Job) error {
	seat, err := sys.Join(job.Setup)
	if err != nil {
		return err
	}
	defer seat.Close()
	progress, err := newProgress(job.Setup.Window, job.Publishers, job.Credits)
	if err != nil {
		return err
	}
	defer progress.close()
	l := newLedgers(job.Publishers, job.Setup.Bytes, progress)
	subscription, err := seat.Subscribe(l.take)
	if err != nil {
		return err
	}
	if err := t.say(Word{Is: "ready", Addr: seat.Addr()}); err != nil {
		return err
	}
	select {
	case <-l.connected:
	case <-time.After(30 * time.Second):
		return errors.New("worker: no probe of some publisher came in 30 s")
	}
	if err := t.say(Word{Is: "seen"}); err != nil {
		return err
	}
	order, err := t.hear("go")
	if err != nil {
		return err
	}
	told := subscription.Told() // of probes
	sleepUntil(order.Span.From)
	before := l.received.Load()
	sleepUntil(order.Span.To)
	count := l.received.Load() - before
	if order, err = t.hear("expect"); err != nil {
		return err
	}
	result := l.settle(order.Expect)
	result.Count, result.Told = count, subscription.Told()-told
	return t.done(result)
}

// ledgers is what one subscriber has got.
type ledgers struct {
	bytes     int
	progress  *progress
	of        []ledger // by publisher
	received  atomic.Uint64
	damaged   atomic.Uint64
	connected chan struct{} // closed when a probe of each publisher came
	unseen    atomic.Int64
}

// ledger is what came of one publisher: one message at a time, of which next is
// the number expected.
type ledger struct {
	mu         sync.Mutex
	probed     bool
	next       uint64
	noted      uint64   // how much of it the publisher was told
	seen       []uint64 // a bit for each number
	distinct   uint64
	duplicated uint64
	disordered uint64
}

func newLedgers(publishers, bytes int, p *progress) *ledgers {
	l := &ledgers{bytes: bytes, progress: p, of: make([]ledger, publishers), connected: make(chan struct{})}
	l.unseen.Store(int64(publishers))
	return l
}

func (l *ledgers) take(body []byte) {
	if len(body) != l.bytes {
		l.damaged.Add(1)
		return
	}
	publisher, number, whole := marked(body)
	if !whole || publisher >= len(l.of) {
		l.damaged.Add(1)
		return
	}
	ledger := &l.of[publisher]
	if number == probe {
		if ledger.probe() && l.unseen.Add(-1) == 0 {
			close(l.connected)
		}
		return
	}
	next, tell := ledger.take(number, l.progress.every)
	l.received.Add(1)
	if tell {
		l.progress.note(publisher, next)
	}
}

// probe is true for the first one.
func (l *ledger) probe() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.probed
	l.probed = true
	return first
}

// take books one message; tell is true when the publisher is to know of next.
func (l *ledger) take(number, every uint64) (next uint64, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	word, bit := number/64, uint64(1)<<(number%64)
	for word >= uint64(len(l.seen)) {
		l.seen = append(l.seen, 0)
	}
	if l.seen[word]&bit != 0 {
		l.duplicated++
		return l.next, false
	}
	l.seen[word] |= bit
	l.distinct++
	if number < l.next {
		l.disordered++
		return l.next, false
	}
	l.next = number + 1
	if l.next-l.noted < every {
		return l.next, false
	}
	l.noted = l.next
	return l.next, true
}

// settle waits until everything that was published has come, or nothing comes
// any more.
func (l *ledgers) settle(sent []uint64) Result {
	var want uint64
	for _, n := range sent {
		want += n
	}
	last, since := l.received.Load(), time.Now()
	for last < want && time.Since(since) < silence {
		time.Sleep(5 * time.Millisecond)
		if now := l.received.Load(); now != last {
			last, since = now, time.Now()
		}
	}
	result := Result{Damaged: l.damaged.Load()}
	for i := range l.of {
		ledger := &l.of[i]
		ledger.mu.Lock()
		result.Received += ledger.distinct
		result.Duplicated += ledger.duplicated
		result.Disordered += ledger.disordered
		ledger.mu.Unlock()
	}
	result.Lost = want - min(result.Received, want)
	return result
}
