// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// Network is a set of simulated hosts, the paths between them, and the queue
// of everything that will happen. It must be made and used inside a
// testing/synctest bubble; the function Run does that. Methods may be called by
// any goroutine of the bubble, once Start was.
type Network struct {
	// Immutable after New.
	cfg   Config
	start time.Time
	born  time.Duration // in real time

	// Lifecycle.
	poke chan struct{}  // wakes the driver from its sleep
	done chan struct{}  // closed when the driver has ended
	user sync.WaitGroup // what the driver started: timers, handlers, scenario

	steps atomic.Uint64 // turns of the driver, for the watchdog

	mu       sync.Mutex
	queue    queue                  // guarded by mu, like all below
	dirty    []outgoing             // has something to commit when the step is over
	last     int64                  // when the last event was applied
	wakeAt   int64                  // until when the driver sleeps; 0 = it does not
	stopped  bool                   // Close has begun
	trace    Trace                  //
	hosts    []*host                // in the order of their index
	numbered []*host                // by their number
	paused   int                    // how many of them are
	byIndex  map[uint32]*host       //
	byName   map[string]*host       //
	byPeer   map[peer.ID]*host      //
	byAddr   map[string]*host       // multiaddr, ip:port, name:port
	blocks   int                    // paths that are blocked
	rules    []rule                 // for paths to come
	calm     bool                   // paths to come lose nothing
	blocked  map[*deadline]struct{} // Reads and Writes that wait
	proofs   map[proven]bool        // of admission, that were checked
	tap      Tap                    // hears what streams send
}

// New makes a network whose nodes do not exist yet. Start it before use.
func New(cfg Config) *Network {
	n := &Network{
		cfg:     cfg.withDefaults(),
		start:   time.Now(),
		born:    realNow(),
		poke:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		last:    -1,
		byIndex: make(map[uint32]*host),
		byName:  make(map[string]*host),
		byPeer:  make(map[peer.ID]*host),
		byAddr:  make(map[string]*host),
		blocked: make(map[*deadline]struct{}),
		proofs:  make(map[proven]bool),
	}
	n.trace = Trace{Seed: cfg.Seed, Hash: mix(offset, cfg.Seed), names: make(map[uint32]string)}
	return n
}

// Start starts the driver. Events happen from now on.
func (n *Network) Start() { go n.drive() }

// Close stops the driver and waits for it and for every function it started.
// Calls that still block on the network return with an error; nothing happens
// any more. The nodes should have been closed before. Idempotent.
func (n *Network) Close() {
	n.mu.Lock()
	first := !n.stopped
	n.stopped = true
	n.mu.Unlock()
	if first {
		n.prod()
	}
	<-n.done
	if first {
		n.release()
	}
	n.user.Wait()
}

// release lets everything return that still blocks when the driver has ended.
func (n *Network) release() {
	n.mu.Lock()
	for d := range n.blocked {
		d.s.readErr, d.s.writeErr = ErrDown, ErrDown
		d.broadcast()
	}
	for _, h := range n.hosts {
		if h.proc != nil {
			h.proc.release()
		}
	}
	var wakes []func()
	for e := n.queue.pop(); e != nil; e = n.queue.pop() {
		if e.key.kind == kindWake || e.key.kind == kindDialed {
			wakes = append(wakes, e.apply)
		}
	}
	n.mu.Unlock()
	for _, f := range wakes {
		f()
	}
}

// Seam returns the five interfaces of a new node on the host of that name,
// which is made if it does not exist. Calling it again after the node has
// crashed or its Transport was closed restarts it with the same key and
// address and the next incarnation. It panics if the node still runs.
func (n *Network) Seam(name string) overlay.Seam {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.host(name)
	if h.proc != nil && h.proc.state == stateUp {
		panic("sim: " + name + " still runs: crash or close it before it can start again")
	}
	return newProcess(h).seam()
}

// Incarnation counts the seams that were made for the node.
func (n *Network) Incarnation(name string) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host(name).incarnation
}

// Peer returns the peer id of the node of that name.
func (n *Network) Peer(name string) peer.ID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host(name).id
}

// Addr returns the multiaddr (without /p2p) of the node of that name, which
// can serve as a seed for others.
func (n *Network) Addr(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host(name).addr
}

// PrivateKey returns the node's key, which the seed and its name decide.
func (n *Network) PrivateKey(name string) ed25519.PrivateKey {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host(name).private
}

// Trace returns what has happened so far.
func (n *Network) Trace() *Trace {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.trace
	t.names = maps.Clone(t.names)
	return &t
}

// Hash returns the running hash of the trace.
func (n *Network) Hash() uint64 { return n.Trace().Hash }

// Elapsed returns the virtual time since the network was made.
func (n *Network) Elapsed() time.Duration { return time.Duration(n.now()) }

// Run lets virtual time pass until so much of it has elapsed since the network
// was made. It is time.Sleep in other words.
func (n *Network) Run(until time.Duration) { time.Sleep(until - n.Elapsed()) }

// At has f called on a goroutine of its own when so much virtual time has
// elapsed. Simultaneous calls happen in the order of name; the same name may
// be used again.
func (n *Network) At(at time.Duration, name string, f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.push(&event{at: max(int64(at), n.now()), key: key{kind: kindScenario, name: name}, apply: func() { n.user.Go(f) }})
}

// Go starts f on a goroutine of its own, in a step of its own and thus at an
// instant of its own, as soon as what happens now is over.
func (n *Network) Go(name string, f func()) { n.At(0, name, f) }

// Note puts a text into the trace, so that a run's results become part of
// what is compared.
func (n *Network) Note(name, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.push(&event{
		at: n.now(), key: key{kind: kindNote, name: name + ": " + text}, apply: func() {},
	})
}

// now is the virtual time in ns.
func (n *Network) now() int64 { return int64(time.Since(n.start)) }

// push queues e. The lock is held.
func (n *Network) push(e *event) *event {
	if n.stopped {
		e.pos = -1
		return e
	}
	n.queue.push(e)
	if e.at < n.wakeAt {
		n.prod()
	}
	return e
}

// soon queues an event for this instant.
func (n *Network) soon(k key, apply func()) *event {
	return n.push(&event{at: n.now(), key: k, apply: apply})
}

// after queues an event.
func (n *Network) after(d time.Duration, k key, apply func()) *event {
	return n.push(&event{at: n.now() + int64(max(0, d)), key: k, apply: apply})
}

// cancel takes e out of the queue and reports whether that came in time.
func (n *Network) cancel(e *event) bool {
	if e == nil {
		return false
	}
	if e.parked && !e.dropped {
		e.dropped = true
		return true
	}
	return n.queue.remove(e)
}

// send has o committed when the step is over.
func (n *Network) send(o outgoing) {
	n.dirty = append(n.dirty, o)
	if n.wakeAt > 0 {
		n.prod()
	}
}

// prod ends the driver's sleep.
func (n *Network) prod() {
	select {
	case n.poke <- struct{}{}:
	default:
	}
}

const never = math.MaxInt64

// drive is the network's only driver: one event, then quiescence, then what
// was sent meanwhile.
func (n *Network) drive() {
	defer close(n.done)
	timer := time.NewTimer(0)
	<-timer.C
	for {
		synctest.Wait()
		n.steps.Add(1)
		e, wait, stop := n.next()
		switch {
		case stop:
			return
		case e != nil:
			e.apply()
		case wait == never:
			<-n.poke
		default:
			// Sleeping moves the bubble's clock. User code whose own sleep
			// ends on the way may send: it prods the driver.
			timer.Reset(time.Duration(wait))
			select {
			case <-timer.C:
			case <-n.poke:
				timer.Stop()
			}
		}
	}
}

// next commits what was sent in the last step and returns the event to apply
// now, or how long to wait for it.
func (n *Network) next() (e *event, wait int64, stop bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wakeAt = 0
	if n.stopped {
		return nil, 0, true
	}
	n.commit()
	for {
		first := n.queue.peek()
		if first == nil {
			n.wakeAt = never
			return nil, never, false
		}
		// Steps never share an instant: what user code sleeps from here on
		// ends at instants of its own, too.
		at := max(first.at, n.last+1)
		if now := n.now(); now < at {
			n.wakeAt = at
			return nil, at - now, false
		}
		if at > int64(n.cfg.Limit) {
			panic("sim: the run goes on beyond Config.Limit; does it wait for something that never happens?")
		}
		e := n.queue.pop()
		if n.paused > 0 && n.park(e) {
			continue
		}
		n.last = at
		n.trace.add(e, n.cfg.Record)
		return e, 0, false
	}
}

// park puts an event at a paused node aside.
func (n *Network) park(e *event) bool {
	h := n.byIndex[e.key.node]
	if h == nil || !h.paused {
		return false
	}
	e.parked = true
	h.parked = append(h.parked, e)
	return true
}

// outgoing is something with a commit to make when the step is over: a
// stream's bytes, or a connection's end.
type outgoing interface {
	// order is the canonical key by which commits are sorted.
	order() key
	// commit turns what was collected into events, drawing from the path's
	// random stream.
	commit()
}

// commit commits everything that was sent since the last step, in key order.
func (n *Network) commit() {
	if len(n.dirty) > 1 {
		slices.SortFunc(n.dirty, func(a, b outgoing) int { return a.order().compare(b.order()) })
	}
	// A commit makes nothing else dirty, so the slice can be walked.
	for i, o := range n.dirty {
		o.commit()
		n.dirty[i] = nil
	}
	n.dirty = n.dirty[:0]
}

// Run calls body in a bubble with a started network and returns the trace.
// body is the scenario: it makes nodes, lets virtual time pass with time.Sleep
// or Network.Run, injects faults and asserts. It closes the nodes that it
// made, best with t.Cleanup of the t that it is given; the network closes
// after that.
func Run(t *testing.T, cfg Config, body func(t *testing.T, n *Network)) *Trace {
	t.Helper()
	var trace *Trace
	var current atomic.Pointer[Network]
	stop := watch(cfg.withDefaults().Watchdog, &current)
	defer stop()
	synctest.Test(t, func(t *testing.T) {
		n := New(cfg)
		current.Store(n)
		n.Start()
		t.Cleanup(func() {
			n.Close()
			trace = n.Trace()
			if t.Failed() {
				t.Logf("sim: seed %d failed within %v and %d events", trace.Seed, trace.End, trace.Events)
			}
		})
		body(t, n)
	})
	return trace
}

// Replay runs body several times with the same Config and fails t with the
// first event at which a run differs from the first one. It returns the first
// run's trace.
func Replay(t *testing.T, cfg Config, runs int, body func(t *testing.T, n *Network)) *Trace {
	t.Helper()
	cfg.Record = true
	first := Run(t, cfg, body)
	for i := 2; i <= runs && !t.Failed(); i++ {
		again := Run(t, cfg, body)
		if diff := first.Diff(again); diff != "" {
			t.Fatalf("run %d is not a replay of run 1:\n%s", i, diff)
		}
	}
	return first
}

// watch ends the program, with all stacks, if the network's driver makes no
// step for so long in real time: then something in the bubble blocks on what
// the bubble can't see, such as a mutex held by a blocked goroutine. It runs
// outside of the bubble.
func watch(limit time.Duration, current *atomic.Pointer[Network]) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var last uint64
		for {
			select {
			case <-done:
				return
			case <-time.After(limit):
			}
			n := current.Load()
			if n == nil {
				continue
			}
			steps := n.steps.Load()
			if steps == last {
				stacks := make([]byte, 4<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				fmt.Fprintf(os.Stderr, "%s\n\n", stacks)
				panic(fmt.Sprintf("sim: no step for %v of real time; is a mutex held across a wait?", limit))
			}
			last = steps
		}
	})
	return func() { close(done); wg.Wait() }
}
