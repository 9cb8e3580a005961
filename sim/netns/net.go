// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Net is a network of real relay processes. All methods may be called
// concurrently.
type Net struct {
	// Immutable after New.
	cfg    Config
	log    *zap.Logger
	wires  *wires
	router *router
	agenda *agenda
	temp   string // of sockets, and of everything without Config.Dir

	// Guarded by mu.
	mu     sync.Mutex
	places map[string]*place
	closed bool
}

var _ play.Level = (*Net)(nil)

// New makes an empty network; its clock begins. The caller closes it. Where this
// level can't run, the error is that of Supported.
func New(cfg Config) (*Net, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := &Net{cfg: cfg, log: cfg.Logger.Named("netns"), agenda: newAgenda(), places: make(map[string]*place)}
	n.wires = newWires(cfg.Seed, n.Now)
	if err := Supported(); err != nil {
		return nil, err
	}
	var err error
	if n.router, err = newRouter(n.wires, n.Now, n.log); err != nil {
		return nil, err
	}
	if n.temp, err = newFolder(); err != nil {
		n.router.close()
		return nil, err
	}
	return n, nil
}

// Now implements play.Level: the real time since New.
func (n *Net) Now() time.Duration { return n.agenda.now() }

// At implements play.Level. What is simultaneous happens in any order.
func (n *Net) At(at time.Duration, _ string, f func()) { n.agenda.at(at, f) }

// Sleep implements play.Level.
func (n *Net) Sleep(until time.Duration) { time.Sleep(until - n.Now()) }

// Note implements play.Level: there is no trace.
func (n *Net) Note(string, string) {}

// SetLinks implements play.Level.
func (n *Net) SetLinks(of func(from, to string) scenario.Link) {
	n.wires.setLinks(func(from, to string) link.Model { return modelOf(of(from, to)) })
}

// Start implements play.Level. The node listens and its program is attached
// when it returns; nobody else need know it yet.
func (n *Net) Start(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	if len(spec.ClusterKeys) > 0 {
		return nil, unsupported("a relay can't be given explicit cluster keys")
	}
	p, err := n.place(spec.Name)
	if err != nil {
		return nil, err
	}
	var seeds []string
	for _, name := range spec.Seeds {
		s, err := n.place(name)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, seedOf(s.number))
	}
	p.take()
	defer p.give()
	if n.isClosed() {
		return nil, ErrClosed
	}
	if p.alive() {
		return nil, fmt.Errorf("netns: node %s runs already", spec.Name)
	}
	if err := n.settle(p); err != nil {
		return nil, err
	}
	life, err := p.start(ctx, n.cfg, spec, seeds)
	if err != nil {
		return nil, err
	}
	return life, nil
}

// settle gives a place a site and power.
func (n *Net) settle(p *place) (err error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if p.site == nil {
		p.site, err = openSite(n.router, p.name, p.number)
	}
	n.wires.power(p.name, true)
	return err
}

// place returns the place of the node with that name, which has an address
// from then on.
func (n *Net) place(name string) (*place, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	p := n.places[name]
	if p == nil {
		number := len(n.places)
		p = &place{
			name: name, number: number, turn: make(chan struct{}, 1),
			dir:    filepath.Join(cmp.Or(n.cfg.Dir, n.temp), name),
			socket: filepath.Join(n.temp, strconv.Itoa(number)+".sock"),
		}
		n.places[name] = p
	}
	return p, nil
}

// known returns the place of a node that was started.
func (n *Net) known(name string) (*place, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.places[name]
	switch {
	case n.closed:
		return nil, ErrClosed
	case p == nil:
		return nil, fmt.Errorf("netns: there is no node %s", name)
	}
	return p, nil
}

func (n *Net) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// Close implements play.Level: it kills every relay that is left, and removes
// everything but Config.Dir. It is idempotent.
func (n *Net) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	n.mu.Unlock()
	n.agenda.close()
	all := n.list()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() { errs[i] = p.close() })
	}
	wg.Wait()
	n.router.close()
	return errors.Join(append(errs, os.RemoveAll(n.temp))...)
}

// list returns every place, in the order in which they were named.
func (n *Net) list() []*place {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]*place, len(n.places))
	for _, p := range n.places {
		all[p.number] = p
	}
	return all
}
