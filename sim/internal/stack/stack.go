// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Stack is a network of whole nodes in virtual time. Methods may be called
// concurrently, inside the bubble.
type Stack struct {
	// Immutable after New.
	cfg Config
	net *network
	*play.Agenda

	mu     sync.Mutex
	closed bool                         // guarded by mu
	lives  []*participant               // guarded by mu; those that were not closed
	files  map[string]*security.Network // guarded by mu; by encoded network file
}

var _ play.Level = (*Stack)(nil)

// New makes an empty network. It must be called inside a testing/synctest
// bubble, which must end with Close.
func New(cfg Config) (*Stack, error) {
	if cfg.Link.Latency < 0 || cfg.Link.Jitter < 0 {
		return nil, errors.New("stack: Config.Link is negative")
	}
	cfg = cfg.withDefaults()
	return &Stack{
		cfg: cfg, net: newNetwork(cfg.Seed, cfg.Link), Agenda: play.NewAgenda(), files: make(map[string]*security.Network),
	}, nil
}

// SetLinks implements play.Level.
func (s *Stack) SetLinks(of func(from, to string) scenario.Link) {
	s.net.setModels(func(from, to string) link.Model { return of(from, to).Model() })
}

// Close implements play.Level.
func (s *Stack) Close() error {
	s.Stop()
	s.mu.Lock()
	s.closed = true
	lives := s.lives
	s.mu.Unlock()
	s.net.resumeAll()
	errs := make([]error, len(lives))
	var wg sync.WaitGroup
	for i, p := range lives {
		wg.Go(func() { errs[i] = p.Close() })
	}
	wg.Wait()
	s.Wait()
	return errors.Join(errs...)
}

// Config describes a stack. The zero value is usable.
type Config struct {
	// Seed decides the nodes' keys and randomness, and what links do.
	Seed uint64
	// Link is that of all pairs until SetLinks says more. Default: 5 ms and up
	// to 1 ms of jitter, without loss or bottleneck.
	Link link.Model
	// Heartbeat is described at node.Config. Default 400 ms.
	Heartbeat time.Duration
	// Logger is where the nodes log; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	c.Link = cmp.Or(c.Link, link.Model{Latency: 5 * time.Millisecond, Jitter: time.Millisecond})
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

// maxWorkers bounds the handlers that a node runs at once, as in production.
const maxWorkers = 16384

// Start implements play.Level.
func (s *Stack) Start(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	p, err := s.create(spec)
	if err == nil {
		if err = p.Node.Start(ctx); err != nil {
			_ = p.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", spec.Name, err)
	}
	return p, nil
}

// create makes one life of a node.
func (s *Stack) create(spec play.NodeSpec) (*participant, error) {
	key, err := security.GenerateNodeKey(source(s.cfg.Seed, "key", spec.Name))
	if err != nil {
		return nil, err
	}
	network, err := s.network(spec.Network)
	if err != nil {
		return nil, err
	}
	p, seeds, err := s.boot(spec)
	if err != nil {
		return nil, err
	}
	log := s.cfg.Logger.Named(spec.Name)
	host, err := p2p.New(p2p.Config{
		Key: key, Network: network, Sockets: p.proc, Listen: []string{p.proc.machine.addr(nodePort).String()}, Logger: log,
	})
	if err == nil {
		p.host = host
		seam := overlay.Seam{
			Transport: &transport{host, p.clock}, Router: host.Router(), Clock: p.clock, Exec: p.workers,
			Rand: newRandom(s.cfg.Seed, fmt.Sprint(spec.Name, " ", p.incarnation)),
			Key:  key,
		}
		p.Node, err = node.New(node.Config{
			Network: spec.Network, Zone: spec.Zone, ClusterKeys: spec.ClusterKeys, Seeds: seeds,
			Seam: &seam, Incarnation: p.incarnation, Heartbeat: s.cfg.Heartbeat, Logger: log,
		})
	}
	if err != nil {
		p.exit()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.exit()
		return nil, p2p.ErrClosed
	}
	s.lives = append(s.lives, p)
	return p, nil
}

// boot starts the process of a node, which then has sockets and a clock. It
// returns the addresses of the seeds too.
func (s *Stack) boot(spec play.NodeSpec) (*participant, []string, error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	m := s.net.machine(spec.Name)
	if m.alive() {
		return nil, nil, fmt.Errorf("it is running already")
	}
	var seeds []string
	for _, name := range spec.Seeds {
		seeds = append(seeds, s.net.machine(name).addr(nodePort).String())
	}
	proc := m.boot()
	return &participant{
		stack: s, proc: proc, incarnation: m.incarnation, clock: m.clock.boot(), workers: overlay.NewWorkers(maxWorkers),
	}, seeds, nil
}

// network returns what nodes with that file share, so that each proof is
// checked once.
func (s *Stack) network(file security.NetworkFile) (*security.Network, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(file.Encode())
	if known := s.files[text]; known != nil {
		return known, nil
	}
	made, err := security.NewNetwork(file)
	if err == nil {
		s.files[text] = made
	}
	return made, err
}

// forget takes a life that is over out of the list.
func (s *Stack) forget(p *participant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = slices.DeleteFunc(slices.Clone(s.lives), func(q *participant) bool { return p == q })
}

// Apply implements play.Level.
func (s *Stack) Apply(a scenario.Action) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	switch a.Do {
	case "heal":
		s.net.heal()
		return nil
	case "cut", "mend", "clog", "unclog", "corrupt", "degrade":
		if len(a.Between) != 2 {
			return fmt.Errorf("stack: %s needs two sides", a.Do)
		}
		s.net.between(a.Between[0], a.Between[1], func(p *path) { p.apply(a) })
		return nil
	}
	for _, name := range a.Nodes {
		if err := s.strike(name, a); err != nil {
			return err
		}
	}
	return nil
}

// apply does an action to one path.
func (p *path) apply(a scenario.Action) {
	switch a.Do {
	case "cut":
		p.set(&p.cut, true)
	case "mend":
		p.set(&p.cut, false)
	case "clog":
		p.set(&p.clogged, true)
	case "unclog":
		p.set(&p.clogged, false)
	case "corrupt":
		p.corrupt++
	case "degrade":
		if a.Link != nil {
			p.link.SetModel(a.Link.Model())
		}
	}
}

// strike does an action to one node. It needs net.mu.
func (s *Stack) strike(name string, a scenario.Action) error {
	m := s.net.machine(name)
	switch a.Do {
	case "stop": // the player has shut it down
	case "crash":
		s.lose(m, exited)
	case "silence":
		s.lose(m, silent)
	case "pause":
		if m.alive() {
			m.clock.pause()
			m.proc.freeze(true)
		}
	case "resume":
		s.net.resumeLocked(m.proc)
	case "skew":
		m.clock.set(a.Offset.D(), a.Drift)
	default:
		return fmt.Errorf("%w: stack: action %q", play.ErrUnsupported, a.Do)
	}
	return nil
}

// lose ends the process of a machine.
func (s *Stack) lose(m *machine, how state) {
	if m.proc != nil {
		m.clock.resume()
		m.proc.leave(how)
	}
}

// resume lets a paused process go on.
func (n *network) resume(p *process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resumeLocked(p)
}

func (n *network) resumeLocked(p *process) {
	if p != nil && p.machine.proc == p {
		p.freeze(false)
		p.machine.clock.resume()
	}
}

// resumeAll lets everybody go on.
func (n *network) resumeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.machines {
		n.resumeLocked(m.proc)
	}
}

// Calm implements play.Level.
func (s *Stack) Calm() error {
	s.net.resumeAll()
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.heal()
	s.net.lossless = true
	for _, m := range s.net.machines {
		m.clock.set(0, 0)
	}
	for _, p := range s.net.paths {
		p.corrupt = 0
		model := p.link.Model()
		model.Loss = 0
		p.link.SetModel(model)
	}
	return nil
}

// participant is one life of a node.
type participant struct {
	*node.Node
	stack       *Stack
	host        *p2p.Host
	proc        *process
	incarnation uint64
	clock       *clock
	workers     *overlay.Workers

	once sync.Once
	err  error // of Close
}

var _ play.Participant = (*participant)(nil)

// Now implements play.Participant.
func (p *participant) Now() time.Time { return p.clock.Now() }

// Within implements play.Participant.
func (p *participant) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return overlay.WithTimeout(context.Background(), p.clock, "stack.within", d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.Self().String() }

// Status implements play.Participant.
func (p *participant) Status(context.Context) (node.Status, error) { return p.Node.Status(), nil }

// Shutdown implements patterns.Messenger.
func (p *participant) Shutdown(ctx context.Context) error {
	return errors.Join(p.Node.Shutdown(ctx), p.Close())
}

// Close implements patterns.Messenger. The process exits.
func (p *participant) Close() error {
	p.once.Do(func() {
		p.stack.net.resume(p.proc) // nothing must keep it from ending
		p.err = errors.Join(p.Node.Close(), p.workers.Close())
		p.exit()
		p.stack.forget(p)
	})
	return p.err
}

// exit ends the process, if nothing else has before.
func (p *participant) exit() {
	p.stack.net.mu.Lock()
	defer p.stack.net.mu.Unlock()
	p.proc.leave(exited)
}
