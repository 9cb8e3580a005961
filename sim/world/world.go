// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/internal/adversary"
	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// World is a simulated network and the nodes on it. Methods may be called
// concurrently, inside the bubble.
type World struct {
	// Immutable after New.
	n       *sim.Network
	cfg     Config
	foes    *foes
	bridges *bridges

	mu      sync.Mutex
	nodes   map[string]*participant      // guarded by mu; by name, the last life of each
	files   map[string]*security.Network // guarded by mu; by encoded network file
	clients []*attached                  // guarded by mu; all lives
	order   []string                     // guarded by mu; names as they were first started
	renewed map[string]int               // guarded by mu; how often a node became another peer
}

var (
	_ play.Level   = (*World)(nil)
	_ play.Witness = (*World)(nil)
)

// New makes a world on a network that was started, in its bubble.
func New(n *sim.Network, cfg Config) *World {
	w := &World{n: n, cfg: cfg, nodes: make(map[string]*participant), renewed: make(map[string]int), files: make(map[string]*security.Network), foes: newFoes(n, cfg.Seed)}
	w.bridges = &bridges{w: w, last: make(map[string]*bridge), names: make(map[string]string)}
	return w
}

// Now implements play.Level.
func (w *World) Now() time.Duration { return w.n.Elapsed() }

// At implements play.Level.
func (w *World) At(at time.Duration, name string, f func()) { w.n.At(at, name, f) }

// Sleep implements play.Level.
func (w *World) Sleep(until time.Duration) { w.n.Run(until) }

// Note implements play.Level.
func (w *World) Note(node, text string) { w.n.Note(node, text) }

// Start implements play.Level. A node that was left closed, crashed or
// silenced starts again as its next incarnation.
func (w *World) Start(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	if spec.Relay != "" {
		return w.attach(ctx, spec)
	}
	if spec.Gateway != nil {
		return w.bridges.start(ctx, spec)
	}
	p, err := w.create(spec)
	if err != nil {
		return nil, err
	}
	err = p.Node.Start(ctx)
	if err == nil && spec.Relays {
		err = w.open(p, spec)
	}
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("node %s: %w", spec.Name, err)
	}
	return p, nil
}

// log is where a node or a client logs.
func (w *World) log(name string) *zap.Logger {
	if w.cfg.Logger == nil {
		return nil
	}
	return w.cfg.Logger.Named(name)
}

// equip puts a node into the simulated network, and says how to make it.
func (w *World) equip(spec play.NodeSpec) (node.Config, error) {
	admission, err := w.admission(spec.Network)
	if err != nil {
		return node.Config{}, err
	}
	if err := w.foes.place(spec, admission); err != nil {
		return node.Config{}, err
	}
	if spec.Prefix != "" && !w.n.SetPrefix(spec.Name, spec.Prefix) {
		return node.Config{}, fmt.Errorf("node %s: something was done to it before it started: its address can't be chosen any more", spec.Name)
	}
	w.renew(spec)
	w.n.SetAdmission(spec.Name, admission)
	seam := w.n.Seam(spec.Name)
	w.foes.turn(spec, admission, &seam)
	cfg := node.Config{
		Network:     spec.Network,
		Zone:        spec.Zone,
		ClusterKeys: spec.ClusterKeys,
		Seam:        &seam,
		Incarnation: w.n.Incarnation(spec.Name),
	}
	if spec.Certify != nil {
		if cfg.Certificate, err = spec.Certify(seam.Transport.Self(), seam.Clock.Now()); err != nil {
			return node.Config{}, fmt.Errorf("node %s: %w", spec.Name, err)
		}
	}
	cfg.Logger = w.log(spec.Name)
	for _, name := range spec.Seeds {
		cfg.Seeds = append(cfg.Seeds, name+":4001")
	}
	return cfg, nil
}

// renew makes a node another peer, as often as it came back as one.
func (w *World) renew(spec play.NodeSpec) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.renewed[spec.Name] < spec.Identity; w.renewed[spec.Name]++ {
		w.n.Renew(spec.Name)
	}
}

func (w *World) create(spec play.NodeSpec) (*participant, error) {
	cfg, err := w.equip(spec)
	if err != nil {
		return nil, err
	}
	created, err := node.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", spec.Name, err)
	}
	p := &participant{Node: created, timed: timed{cfg.Seam.Clock}, seam: *cfg.Seam}
	p.admit = func(file security.NetworkFile) error {
		// One of its own, which has had the keys before as the node has: what becomes of
		// those is for the product to say.
		own, err := security.NewNetwork(spec.Network)
		if err == nil {
			err = own.SetKeys(file.Keys, p.Now())
		}
		if err == nil {
			spec.Network = file
			w.n.SetAdmission(spec.Name, own)
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[spec.Name] == nil {
		w.order = append(w.order, spec.Name)
	}
	w.nodes[spec.Name] = p
	return p, nil
}

// admission returns what nodes with that file show in the handshake: one for
// all of them, so that each proof is checked once. Who is banned shows above.
func (w *World) admission(file security.NetworkFile) (*security.Network, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	file.Bans = nil
	text := string(file.Encode())
	if known := w.files[text]; known != nil {
		return known, nil
	}
	made, err := security.NewNetwork(file)
	if err == nil {
		w.files[text] = made
	}
	return made, err
}

// SetLinks implements play.Level.
func (w *World) SetLinks(of func(from, to string) scenario.Link) {
	w.n.SetLinks(func(from, to string) link.Model { return of(ownerOf(from), ownerOf(to)).Model() })
}

// Close implements play.Level: it closes every node that is left. The network
// is closed by who made it.
func (w *World) Close() error {
	w.mu.Lock()
	var all []*participant
	for _, name := range w.order {
		all = append(all, w.nodes[name])
	}
	clients := w.clients
	w.mu.Unlock()
	errs := []error{w.bridges.close()}
	for _, c := range clients {
		if err := c.Close(); !errors.Is(err, patterns.ErrInterrupted) {
			errs = append(errs, err)
		}
	}
	for _, p := range all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Config describes a world. The zero value is usable.
type Config struct {
	// Seed decides the keys of networks.
	Seed uint64
	// Logger is where the nodes log; nil = nowhere.
	Logger *zap.Logger
}

// Network returns the network file that a seed and a label decide: the same
// each time. Nodes with files of different labels are strangers.
func Network(seed uint64, label string) (security.NetworkFile, error) {
	return security.GenerateNetworkFile(cmp.Or(label, "sim"), play.Random(seed, label))
}

// Play plays a scenario file's content in a test, with handlers of the
// program's own: those that the file names by handler: {kind: go, name: …}. It
// fails t, with what was broken, unless every assertion and every checker
// holds, and returns the verdict. file is the name that errors have.
func Play(t *testing.T, file string, content []byte, handlers map[string]patterns.Handler) *check.Verdict {
	t.Helper()
	s, err := scenario.Parse(file, content)
	if err == nil {
		s, err = s.Expand()
	}
	if err != nil {
		t.Fatal(err)
	}
	var h *history.History
	sim.Run(t, sim.Config{Seed: s.Seed}, func(_ *testing.T, n *sim.Network) {
		h, err = play.Play(context.Background(), New(n, Config{Seed: s.Seed}), s, play.Options{Handlers: handlers})
	})
	if err != nil {
		t.Fatal(err)
	}
	v := check.Judge(h, s.Rules("sim"))
	for _, a := range v.Assertions {
		if !a.OK {
			t.Errorf("%s, seed %d: %s %s: %s %s", s.Name, s.Seed, a.Kind, a.Text, a.Value, a.Reason)
		}
	}
	for _, x := range v.Violations {
		t.Errorf("%s, seed %d: %v: %s: %s", s.Name, s.Seed, x.At, x.Checker, x.Text)
	}
	return v
}

// Apply implements play.Level.
func (w *World) Apply(a scenario.Action) error {
	a = w.bridges.onMachines(a)
	switch a.Do {
	case "cut":
		w.n.CutOneWay(a.Between[0], a.Between[1])
	case "mend":
		w.n.Mend(a.Between[0], a.Between[1])
	case "clog":
		w.n.Clog(a.Between[0], a.Between[1], true)
	case "unclog":
		w.n.Clog(a.Between[0], a.Between[1], false)
	case "corrupt":
		w.n.Corrupt(a.Between[0][0], a.Between[1][0])
	case "break":
		w.n.Break(a.Between[0], a.Between[1])
	case "degrade":
		w.degrade(a)
	case "heal":
		w.n.Heal()
	default:
		for _, name := range a.Nodes {
			if err := w.strike(name, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// strike does an action that hits one node.
func (w *World) strike(name string, a scenario.Action) error {
	switch a.Do {
	case "stop": // the player has shut it down, its transport is closed
	case "crash":
		w.n.Crash(name)
	case "silence":
		w.n.Silence(name)
	case "pause":
		w.n.Pause(name)
	case "resume":
		w.n.Resume(name)
	case "skew":
		w.n.Skew(name, a.Offset.D(), a.Drift)
	case "move":
		w.n.Move(name)
	case "router":
		w.n.RouterFault(name, a.Mode)
	case "attack":
		w.foes.attack(name, adversary.Order{Mode: a.Mode, On: a.On})
	default:
		return fmt.Errorf("%w: sim: action %q", play.ErrUnsupported, a.Do)
	}
	return nil
}

func (w *World) degrade(a scenario.Action) {
	m := a.Link.Model()
	for _, from := range a.Between[0] {
		for _, to := range a.Between[1] {
			if from != to {
				w.n.SetLink(from, to, m)
			}
		}
	}
}

// Calm implements play.Level.
func (w *World) Calm() error {
	w.n.Calm()
	return nil
}
