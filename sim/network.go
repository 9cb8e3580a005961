// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"crypto/ed25519"
	"maps"
	"math"
	"sync"
	"sync/atomic"
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
