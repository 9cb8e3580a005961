// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arketest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/internal/door"
	"github.com/arke-mesh/arke/internal/zapslog"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/world"
)

// Option changes how Run runs a test.
type Option func(*options)

type options struct {
	seeds  []uint64
	many   bool
	logger *slog.Logger
}

// Seed runs the test once, with that seed. Default: 1.
func Seed(seed uint64) Option {
	return func(o *options) { o.seeds, o.many = []uint64{seed}, false }
}

// Seeds runs the test once for each seed from 1 to count, as a subtest.
func Seeds(count int) Option {
	return func(o *options) {
		o.seeds, o.many = nil, true
		for i := range count {
			o.seeds = append(o.seeds, uint64(i+1))
		}
	}
}

// LogTo sets the logger of the nodes. Default: nothing is logged.
func LogTo(l *slog.Logger) Option {
	return func(o *options) { o.logger = l }
}

// Run runs body with a network of its own, in virtual time. It closes all nodes
// afterwards. body must use the t that it gets.
func Run(t *testing.T, body func(t *testing.T, n *Network), opts ...Option) {
	t.Helper()
	o := options{seeds: []uint64{1}}
	for _, opt := range opts {
		opt(&o)
	}
	for _, seed := range o.seeds {
		if !o.many {
			run(t, seed, o, body)
			continue
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { run(t, seed, o, body) })
	}
}

func run(t *testing.T, seed uint64, o options, body func(t *testing.T, n *Network)) {
	t.Helper()
	file, err := world.Network(seed, "")
	if err != nil {
		t.Fatal(err)
	}
	sim.Run(t, sim.Config{Seed: seed}, func(t *testing.T, below *sim.Network) {
		n := &Network{
			t: t, below: below, file: file, conns: map[string]*arke.Conn{},
			world: world.New(below, world.Config{Seed: seed, Logger: zapslog.New(o.logger)}),
		}
		t.Cleanup(n.close)
		body(t, n)
	})
}

// Network is a simulated network and the programs on it. Each program runs on a
// machine of its own, which has the program's name. If a method can't do its work, the
// test fails. Methods may be called concurrently.
type Network struct {
	// Immutable after Run.
	t     *testing.T
	below *sim.Network
	world *world.World
	file  security.NetworkFile

	mu    sync.Mutex
	conns map[string]*arke.Conn // guarded by mu; the last life of each program
	names []string              // guarded by mu; in the order of their first start
	nodes []string              // guarded by mu; those that are nodes
}

// Link says how a link between two machines behaves, in each direction.
type Link struct {
	Latency time.Duration // one way
	Jitter  time.Duration // on top of it, at most this
	Loss    float64       // of packets, from 0 to 1
	Mbps    int           // 10⁶ bits a second; 0 = unbounded
}

// maxSeeds is how many nodes a new one knows from the start.
const maxSeeds = 3

// Join starts a program that is a node of the network. It finds the others
// through the first three nodes. With the name of a program that has crashed, that
// program starts again.
func (n *Network) Join(name string) *arke.Conn {
	n.t.Helper()
	return n.start(play.NodeSpec{Name: name})
}

// Relay starts a relay, to which programs can attach. The Conn is that of its
// node.
func (n *Network) Relay(name string) *arke.Conn {
	n.t.Helper()
	return n.start(play.NodeSpec{Name: name, Relays: true})
}

// Attach starts a program beside a relay.
func (n *Network) Attach(name, relay string) *arke.Conn {
	n.t.Helper()
	return n.start(play.NodeSpec{Name: name, Relay: relay})
}

func (n *Network) start(spec play.NodeSpec) *arke.Conn {
	n.t.Helper()
	spec.Network = n.file
	isNode := spec.Relay == ""
	n.mu.Lock()
	for _, other := range n.nodes {
		if isNode && other != spec.Name && len(spec.Seeds) < maxSeeds {
			spec.Seeds = append(spec.Seeds, other)
		}
	}
	n.mu.Unlock()
	p, err := n.world.Start(context.Background(), spec)
	if err != nil {
		n.t.Fatalf("arketest: %s: %v", spec.Name, err)
	}
	c, err := arke.Attach(context.Background(), joined{Joined: door.Joined{Messenger: p}})
	if err != nil {
		n.t.Fatalf("arketest: %s: %v", spec.Name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conns[spec.Name] == nil {
		n.names = append(n.names, spec.Name)
		if isNode {
			n.nodes = append(n.nodes, spec.Name)
		}
	}
	n.conns[spec.Name] = c
	return c
}

// joined makes arke.Attach return a Conn on a program that runs already.
type joined struct {
	arke.AttachOption
	door.Joined
}

// Conn returns the Conn of a program. If the program was started again, it is that of
// the last start.
func (n *Network) Conn(name string) *arke.Conn {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.conns[name]
	if c == nil {
		n.t.Fatalf("arketest: there is no program %q", name)
	}
	return c
}

// Crash kills a program. Its connections are reset, so others notice at once.
// Handlers that run see their context end.
func (n *Network) Crash(name string) {
	n.t.Helper()
	c := n.Conn(name)
	n.below.Crash(name)
	n.check(name, c.Close())
}

// Silence takes a machine away without a word, as a power loss does. Others notice
// when they have not heard from it for a while.
func (n *Network) Silence(name string) {
	n.t.Helper()
	c := n.Conn(name)
	n.below.Silence(name)
	n.check(name, c.Close())
}

// Pause stops a machine while time goes on, as a virtual machine that is
// suspended. Resume lets it go on.
func (n *Network) Pause(name string) { n.below.Pause(name) }

// Resume ends Pause.
func (n *Network) Resume(name string) { n.below.Resume(name) }

// Partition cuts every link between a machine of a and one of b. Connections do
// not break, but nothing gets through until Heal.
func (n *Network) Partition(a, b []string) { n.below.Partition(a, b) }

// Heal ends all partitions.
func (n *Network) Heal() { n.below.Heal() }

// Break resets every connection between a machine of a and one of b. Both may
// connect again at once.
func (n *Network) Break(a, b []string) { n.below.Break(a, b) }

// SetLink changes the link between two machines. By default it has a latency of 5 ms
// and up to 1 ms of jitter. It loses nothing, and its rate is unbounded.
func (n *Network) SetLink(a, b string, l Link) {
	n.below.SetLink(a, b, link.Model{
		Latency: l.Latency, Jitter: l.Jitter, Loss: uint32(l.Loss * 1e6), Mbps: l.Mbps,
	})
}

// Go starts f on a goroutine of its own, at an instant of its own. The name decides
// the order of functions that are started at the same time.
func (n *Network) Go(name string, f func()) { n.below.Go(name, f) }

// Elapsed is how much virtual time has passed since the network was made.
func (n *Network) Elapsed() time.Duration { return n.below.Elapsed() }

// check fails the test if a program did not end well. That some of what it
// published is lost with it is what a crash is about.
func (n *Network) check(name string, err error) {
	n.t.Helper()
	if err != nil && !errors.Is(err, arke.ErrInterrupted) {
		n.t.Errorf("arketest: %s: %v", name, err)
	}
}

// close ends all programs, those that are attached before their relays.
func (n *Network) close() {
	n.mu.Lock()
	names := slices.Clone(n.names)
	nodes := slices.Clone(n.nodes)
	n.mu.Unlock()
	for _, attached := range []bool{true, false} {
		for _, name := range names {
			if slices.Contains(nodes, name) != attached {
				n.check(name, n.Conn(name).Close())
			}
		}
	}
	if err := n.world.Close(); err != nil {
		n.t.Errorf("arketest: %v", err)
	}
}
