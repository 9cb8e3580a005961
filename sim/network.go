// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Network is a set of simulated hosts, the paths between them, and the queue
// of everything that will happen. It must be made and used inside a
// testing/synctest bubble; the function Run does that. Methods may be called by
// any goroutine of the bubble, once Start was.
type Network struct {
	cfg Config // immutable after New

	driver
	paths
	faults

	// Guarded by mu.
	hosts    []*host                     // in the order of their index
	numbered []*host                     // by their number
	paused   int                         // how many of them are
	byIndex  map[uint32]*host            //
	byName   map[string]*host            //
	byPeer   map[peer.ID]*host           //
	byAddr   map[string]*host            // multiaddr, ip:port, name:port
	blocked  map[*deadline]struct{}      // Reads and Writes that wait
	proofs   map[proven]verdict          // of admission, that were checked
	chosen   map[string]security.NodeKey // keys of hosts that do not exist yet
	homes    map[string]string           // the first two numbers of their addresses
	renewed  int                         // how often a host became another peer, or moved
	tap      Tap                         // hears what streams send
}

// New makes a network whose nodes do not exist yet. Start it before use.
func New(cfg Config) *Network {
	n := &Network{
		cfg:     cfg.withDefaults(),
		byIndex: make(map[uint32]*host),
		byName:  make(map[string]*host),
		byPeer:  make(map[peer.ID]*host),
		byAddr:  make(map[string]*host),
		blocked: make(map[*deadline]struct{}),
		proofs:  make(map[proven]verdict),
		chosen:  make(map[string]security.NodeKey),
		homes:   make(map[string]string),
	}
	n.paths.n, n.faults.n = n, n
	n.start, n.poke, n.done, n.last = time.Now(), make(chan struct{}, 1), make(chan struct{}), -1
	n.limit, n.record, n.park = int64(n.cfg.Limit), n.cfg.Record, n.parks
	n.mu.shaken = n.cfg.Shake
	n.trace = Trace{Seed: cfg.Seed, Hash: mix(offset, cfg.Seed), names: make(map[uint32]string)}
	return n
}

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
	var do after.List
	for e := n.queue.pop(); e != nil; e = n.queue.pop() {
		if e.key.kind == kindWake || e.key.kind == kindDialed {
			do.Add(e.apply)
		}
	}
	n.mu.Unlock()
	do.Run()
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

// SetKey gives the node of that name, which nothing has been done with yet, another
// key than the seed and its name decide. It reports whether that came in time.
func (n *Network) SetKey(name string, key security.NodeKey) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byName[name] != nil {
		return false
	}
	n.chosen[name] = key
	return true
}

// SetPrefix has the address of the node of that name, which nothing has been done
// with yet, begin with these two numbers ("81.2") in place of 10, which is private.
// It reports whether that came in time.
func (n *Network) SetPrefix(name, prefix string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byName[name] != nil {
		return n.homes[name] == prefix
	}
	n.homes[name] = prefix
	return true
}

// parks puts an event at a paused node aside.
func (n *Network) parks(e *event) bool {
	if n.paused == 0 {
		return false
	}
	h := n.byIndex[e.key.node]
	if h == nil || !h.paused {
		return false
	}
	e.parked = true
	h.parked = append(h.parked, e)
	return true
}

// SetAdmission says what the node of that name shows and demands when it
// connects or is connected to: a connection stands only if each end accepts
// the other's proof. Nodes without one accept everybody and are accepted by
// everybody. It holds from the next dial on. A proof is checked once for each
// Admission and peer: nodes of one network should share one.
func (n *Network) SetAdmission(name string, a Admission) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host(name).admission = a
}

// both says whether both ends of a new connection accept each other.
func (n *Network) both(a, b *host) bool { return n.admits(a, b).ok && n.admits(b, a).ok }

// admits says whether one end accepts the other's proof, and which version of the key
// that is by.
func (n *Network) admits(one, other *host) verdict {
	if one.admission == nil || other.admission == nil {
		return verdict{ok: true}
	}
	k := proven{by: one.admission, of: other.admission, id: other.id}
	v, known := n.proofs[k]
	if !known {
		version, err := one.admission.AdmittedBy(other.id, other.admission.Admit(other.id))
		v = verdict{version, err == nil}
		n.proofs[k] = v
	}
	return v
}

// Tap has streams that are opened from now on heard. It changes nothing in the
// run and does not show in the trace. nil = no longer.
func (n *Network) Tap(t Tap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tap = t
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

// Replay runs body several times with the same Config, shaken from the second time
// on, and fails t with the first event at which a run differs from the first one. It
// returns the first run's trace.
func Replay(t *testing.T, cfg Config, runs int, body func(t *testing.T, n *Network)) *Trace {
	t.Helper()
	cfg.Record = true
	first := Run(t, cfg, body)
	cfg.Shake = true
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
