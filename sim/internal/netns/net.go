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
	*play.Agenda

	// Immutable after New.
	cfg    Config
	log    *zap.Logger
	wires  *wires
	router *router
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
	n := &Net{cfg: cfg, log: cfg.Logger.Named("netns"), Agenda: play.NewAgenda(), places: make(map[string]*place)}
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

// SetLinks implements play.Level.
func (n *Net) SetLinks(of func(from, to string) scenario.Link) {
	n.wires.setLinks(func(from, to string) link.Model { return of(from, to).Model() })
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
	all := []play.GatewayNetwork{{Seeds: spec.Seeds}}
	if spec.Gateway != nil {
		all = spec.Gateway.Networks
	}
	seeds := make([][]string, len(all))
	for i, network := range all {
		for _, name := range network.Seeds {
			s, err := n.place(name)
			if err != nil {
				return nil, err
			}
			seeds[i] = append(seeds[i], seedOf(s.number))
		}
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	if n.isClosed() {
		return nil, ErrClosed
	}
	if p.alive() {
		return nil, fmt.Errorf("netns: node %s runs already", spec.Name)
	}
	if err := n.settle(p); err != nil {
		return nil, err
	}
	return p.start(ctx, n.cfg, spec, seeds)
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
			name: name, number: number,
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
	n.Stop()
	n.Wait()
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

// Config says what runs and where. Binary is required; every other zero value
// means the default named at the field.
type Config struct {
	// Seed decides which packets are lost and how much each is delayed.
	Seed uint64
	// Binary is the path of the arke program. Required.
	Binary string
	// Dir is where the nodes' data and logs are kept: a folder for each node.
	// It must not hold those of another run. Default: a temporary folder that
	// Close removes.
	Dir string
	// LogLevel is that of the relays. Default "warn".
	LogLevel string
	// Logger is where the level itself logs; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	c.LogLevel, c.Logger = cmp.Or(c.LogLevel, "warn"), cmp.Or(c.Logger, zap.NewNop())
	return c
}

func (c Config) validate() error {
	if c.Binary == "" {
		return errors.New("netns: Config.Binary is required: where is the arke program?")
	}
	if _, err := os.Stat(c.Binary); err != nil {
		return fmt.Errorf("netns: Config.Binary: %w", err)
	}
	return nil
}

// ErrClosed is returned by Start and Apply after Close.
var ErrClosed = errors.New("netns: closed")

// unsupported wraps play.ErrUnsupported with a reason.
func unsupported(why string) error {
	return fmt.Errorf("%w: net: %s", play.ErrUnsupported, why)
}

// drainTime is how long a node that is stopped may take.
const drainTime = 30 * time.Second

// Apply implements play.Level.
func (n *Net) Apply(a scenario.Action) error {
	if n.isClosed() {
		return ErrClosed
	}
	switch a.Do {
	case "cut", "mend", "clog", "unclog", "corrupt", "degrade":
		return n.disturb(a)
	case "heal":
		return n.heal(false)
	}
	for _, name := range a.Nodes {
		if err := n.strike(name, a); err != nil {
			return err
		}
	}
	return nil
}

// disturb does an action that hits wires.
func (n *Net) disturb(a scenario.Action) error {
	if len(a.Between) != 2 || len(a.Between[0]) == 0 || len(a.Between[1]) == 0 {
		return fmt.Errorf("netns: %s needs two sets of nodes", a.Do)
	}
	from, to := a.Between[0], a.Between[1]
	switch a.Do {
	case "cut":
		n.wires.cutOff(from, to, true)
	case "mend":
		n.wires.cutOff(from, to, false)
	case "clog":
		n.wires.clog(from, to)
	case "unclog":
		n.router.resume(n.wires.unclog(from, to))
	case "corrupt":
		n.wires.corrupt(from[0], to[0])
	case "degrade":
		if a.Link == nil {
			return errors.New("netns: degrade needs a link")
		}
		n.wires.degrade(from, to, a.Link.Model())
	}
	return nil
}

// strike does an action that hits one node.
func (n *Net) strike(name string, a scenario.Action) error {
	switch a.Do {
	case "skew":
		return unsupported("all processes share the machine's clock")
	case "router":
		return unsupported("the router of a real node does what it does")
	case "stop", "crash", "silence", "pause", "resume":
	default:
		return unsupported("action " + a.Do)
	}
	p, err := n.known(name)
	if err != nil {
		return err
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.life == nil {
		return fmt.Errorf("netns: node %s was never started", name)
	}
	switch a.Do {
	case "stop":
		return stop(p)
	case "crash":
		p.life.process.kill()
	case "silence":
		n.wires.power(name, false) // first: nobody may hear that it dies
		p.life.process.kill()
		p.vacate()
	case "pause", "resume":
		return pause(p, a.Do == "pause")
	}
	return nil
}

// stop drains a node, if the player has not done that already.
func stop(p *place) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return p.life.Shutdown(ctx)
}

// pause stops a node where it is. One that is gone can't be paused, and need
// not go on.
func pause(p *place, on bool) error {
	if err := p.life.process.pause(on); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("netns: node %s: %w", p.name, err)
	}
	return nil
}

// Calm implements play.Level.
func (n *Net) Calm() error { return n.heal(true) }

// heal ends the faults of wires and resumes paused nodes; with calm nothing is
// lost at random any more, either.
func (n *Net) heal(calm bool) error {
	n.router.resume(n.wires.heal(calm))
	var errs []error
	for _, p := range n.list() {
		p.turn.Lock()
		if p.alive() {
			errs = append(errs, pause(p, false))
		}
		p.turn.Unlock()
	}
	return errors.Join(errs...)
}
