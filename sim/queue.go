// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim/link"
)

// kind is what an event is about. Among simultaneous events the lower kind
// comes first.
type kind uint8

const (
	kindScenario kind = iota // Network.At, Network.Go and faults
	kindDial                 // a node begins to dial
	kindSyn                  // a dial arrives
	kindAnswer               // its answer arrives
	kindRefused              // or its refusal does
	kindGiveUp               // or the dialer's patience ends
	kindDialed               // a waiting Connect or Open returns
	kindData                 // bytes of one stream arrive
	kindCredit               // the receiver's window opens
	kindConnDown             // the other end's close or reset arrives
	kindExpire               // a silent connection's keepalive ends
	kindGaveUp               // a packet was lost too often
	kindRetry                // a sender tries again what was lost
	kindPump                 // the bottleneck has room for the next stream
	kindCorrupt              // a delivery was corrupted: its connection ends
	kindReader               // a blocked Read looks again
	kindWriter               // a blocked Write looks again
	kindPeer                 // PeerDown is called
	kindLookup               // a lookup begins
	kindFound                // a lookup ends
	kindLearn                // a router learns of or forgets a peer
	kindRouter               // Router.OnChange is called
	kindRefresh              // a router looks for its neighbours
	kindTimer                // Clock.AfterFunc
	kindWake                 // Exec.Wake
	kindGo                   // Exec.Go
	kindNote                 // Network.Note
)

var kindNames = [...]string{
	"scenario", "dial", "syn", "answer", "refused", "giveup", "dialed", "data", "credit", "conndown", "expire", "gaveup", "retry", "pump",
	"corrupt", "reader",
	"writer", "peerdown", "lookup", "found", "learn", "router", "refresh", "timer", "wake", "go", "note",
}

// String returns the name that traces print.
func (k kind) String() string { return kindNames[k] }

// key says canonically what an event is about: two runs give the same event
// the same key. Node is where it happens, peer the other end if there is one.
type key struct {
	kind kind
	node uint32
	peer uint32
	n    uint64
	name string
}

func (k key) compare(o key) int {
	if c := cmp.Compare(k.kind, o.kind); c != 0 {
		return c
	}
	if c := cmp.Compare(k.node, o.node); c != 0 {
		return c
	}
	if c := cmp.Compare(k.peer, o.peer); c != 0 {
		return c
	}
	if c := cmp.Compare(k.n, o.n); c != 0 {
		return c
	}
	return cmp.Compare(k.name, o.name)
}

// event is something that will happen once.
type event struct {
	at    int64 // ns of virtual time
	key   key
	seq   uint64 // order of insertion: decides only between equal keys, which makes it a sequence per key
	size  int    // bytes of content
	sum   uint64 // hash of the content
	apply func() // called by the driver, without the lock; wakes at most one goroutine

	pos     int // index in the queue, -1 = not in it
	parked  bool
	dropped bool // removed while parked
}

func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if c := e.key.compare(o.key); c != 0 {
		return c < 0
	}
	return e.seq < o.seq
}

// queue is a 4-ary heap of events in the order of (time, key, sequence).
type queue struct {
	events []*event
	seq    uint64
}

func (q *queue) peek() *event {
	if len(q.events) == 0 {
		return nil
	}
	return q.events[0]
}

func (q *queue) push(e *event) {
	q.seq++
	e.seq = q.seq
	e.pos = len(q.events)
	q.events = append(q.events, e)
	q.up(e.pos)
}

func (q *queue) pop() *event {
	if len(q.events) == 0 {
		return nil
	}
	e := q.events[0]
	q.remove(e)
	return e
}

// remove takes e out and reports whether it was in.
func (q *queue) remove(e *event) bool {
	i := e.pos
	if i < 0 || i >= len(q.events) || q.events[i] != e {
		return false
	}
	last := len(q.events) - 1
	q.swap(i, last)
	q.events[last] = nil
	q.events = q.events[:last]
	e.pos = -1
	if i < last {
		q.up(i)
		q.down(i)
	}
	return true
}

func (q *queue) swap(i, j int) {
	q.events[i], q.events[j] = q.events[j], q.events[i]
	q.events[i].pos, q.events[j].pos = i, j
}

func (q *queue) up(i int) {
	for i > 0 {
		p := (i - 1) / 4
		if !q.events[i].before(q.events[p]) {
			return
		}
		q.swap(i, p)
		i = p
	}
}

func (q *queue) down(i int) {
	for {
		first := 4*i + 1
		if first >= len(q.events) {
			return
		}
		best := first
		for c := first + 1; c < first+4 && c < len(q.events); c++ {
			if q.events[c].before(q.events[best]) {
				best = c
			}
		}
		if !q.events[best].before(q.events[i]) {
			return
		}
		q.swap(i, best)
		i = best
	}
}

// clock implements overlay.Clock: the bubble's time as the host's clock shows
// it, and timers in the queue.
type clock struct{ p *process }

var _ overlay.Clock = (*clock)(nil)

// Now implements overlay.Clock.
func (c *clock) Now() time.Time { return c.shown(c.p.n.now()) }

// shown is what the clock shows at an instant.
func (c *clock) shown(now int64) time.Time {
	s := c.p.host.skew.Load()
	ran := now + s.drifted(now)
	return withMonotonic(c.p.n.start.Add(time.Duration(ran)+s.step), ran+1)
}

// withMonotonic gives t a monotonic reading, which the bubble's time has not: in a real
// process it goes on as before when the machine's clock is set. As package time has it, the
// first word has a flag, 33 bits of seconds since 1885 and 30 of nanoseconds, and the
// second one the reading.
func withMonotonic(t time.Time, reading int64) time.Time {
	since := t.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	words := (*[2]uint64)(unsafe.Pointer(&t))
	*words = [2]uint64{1<<63 | uint64(since)<<30 | uint64(t.Nanosecond()), uint64(reading)}
	return t
}

// AfterFunc implements overlay.Clock.
func (c *clock) AfterFunc(label string, d time.Duration, f func()) overlay.Timer {
	n := c.p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	k := c.p.key(kindTimer, 0, 0)
	k.name = label
	d = time.Duration(c.p.host.skew.Load().real(int64(d)))
	return &timer{n: n, event: n.push(&event{at: n.now() + int64(max(0, d)), key: k, apply: func() { n.user.Go(f) }})}
}

// instant is when the host's clock will show t. A time without a monotonic reading is the
// bubble's: it comes from time.Now, whose deadlines no clock that is set touches either.
func (c *clock) instant(t time.Time) int64 {
	now := c.p.n.now()
	if t == t.Round(0) {
		return int64(t.Sub(c.p.n.start))
	}
	return now + c.p.host.skew.Load().real(int64(t.Sub(c.shown(now))))
}

// timer is an event that can be taken back.
type timer struct {
	n     *Network
	event *event
}

// Stop implements overlay.Timer.
func (t *timer) Stop() bool {
	t.n.mu.Lock()
	defer t.n.mu.Unlock()
	return t.n.cancel(t.event)
}

// exec implements overlay.Exec: user code and completions are events with the
// caller's keys.
type exec struct{ p *process }

var _ overlay.Exec = (*exec)(nil)

// OrdersUserCode says that goroutines of user code take turns: see package
// internal/turn.
func (x *exec) OrdersUserCode() {}

// Go implements overlay.Exec.
func (x *exec) Go(k overlay.ExecKey, f func()) bool {
	p := x.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if p.state != stateUp || p.n.stopped || p.workers >= p.n.cfg.Workers {
		return false
	}
	p.workers++
	p.n.soon(x.key(kindGo, k), func() {
		p.n.user.Go(func() {
			defer func() {
				p.n.mu.Lock()
				p.workers--
				p.n.mu.Unlock()
			}()
			f()
		})
	})
	return true
}

// Wake implements overlay.Exec.
func (x *exec) Wake(k overlay.ExecKey, f func()) {
	n := x.p.n
	n.mu.Lock()
	if n.stopped {
		// Nothing is ordered any more; let the node end.
		n.mu.Unlock()
		f()
		return
	}
	n.soon(x.key(kindWake, k), f)
	n.mu.Unlock()
}

func (x *exec) key(kind kind, k overlay.ExecKey) key {
	return key{kind: kind, node: x.p.host.index, n: k.N, name: k.Name}
}

// pcg is a seeded generator; integers only, so that it gives the same numbers
// on every architecture. It is not locked.
type pcg struct{ src rand.PCG }

// newPCG derives a generator from the network's seed and a path of names.
// Different names give independent generators.
func newPCG(seed uint64, names ...string) *pcg {
	hi, lo := mix(offset, seed), mix(^uint64(offset), seed)
	for _, name := range names {
		s := sumBytes([]byte(name))
		hi, lo = mix(hi, s), mix(lo, ^s)
	}
	p := &pcg{}
	p.src.Seed(hi, lo)
	return p
}

func (p *pcg) uint64() uint64 { return p.src.Uint64() }

// below returns a number in [0, n) without bias; n must be positive.
func (p *pcg) below(n uint64) uint64 { return link.Below(&p.src, n) }

func (p *pcg) read(b []byte) {
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], p.src.Uint64())
		b = b[copy(b, word[:]):]
	}
}

// random implements overlay.Rand for one incarnation of a node.
type random struct {
	seed   uint64
	names  []string // node, incarnation
	shaken bool

	mu      sync.Mutex
	streams map[string]*randStream // guarded by mu
}

var _ overlay.Rand = (*random)(nil)

// Stream implements overlay.Rand.
func (r *random) Stream(name string) overlay.RandStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[name]
	if s == nil {
		path := append(append([]string{"rand"}, r.names...), name)
		s = &randStream{mu: shakenMutex{shaken: r.shaken}, gen: newPCG(r.seed, path...)}
		r.streams[name] = s
	}
	return s
}

// randStream is a pcg that several goroutines may use.
type randStream struct {
	mu  shakenMutex
	gen *pcg // guarded by mu
}

// Read implements overlay.RandStream; it fills b and never fails.
func (s *randStream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gen.read(b)
	return len(b), nil
}

// Uint64 implements overlay.RandStream.
func (s *randStream) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gen.uint64()
}

// IntN implements overlay.RandStream.
func (s *randStream) IntN(n int) int {
	if n <= 0 {
		panic("sim: IntN of a number that is not positive")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.gen.below(uint64(n)))
}
