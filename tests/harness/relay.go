// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// askTime bounds the harness's own questions to a relay.
const askTime = 20 * time.Second

// RelayOption changes how a relay is started.
type RelayOption func(*relayConfig)

type relayConfig struct {
	verb    []string // of arke
	seeds   []string
	args    []string
	mdns    bool
	listen  string
	dataDir bool
	on      *Machine
	wrap    func(argv []string) []string // nil = here
	anyPort bool                         // no --listen
	clock   string                       // file that says how far the wall clock is off; "" = right
}

// Seed names relays that the new one dials first.
func Seed(relays ...*Relay) RelayOption {
	return func(c *relayConfig) {
		for _, r := range relays {
			c.seeds = append(c.seeds, r.Addr())
		}
	}
}

// Flags adds any other flags.
func Flags(args ...string) RelayOption {
	return func(c *relayConfig) { c.args = append(c.args, args...) }
}

// Verb has another command run the relay than `arke relay`.
func Verb(words ...string) RelayOption { return func(c *relayConfig) { c.verb = words } }

// Remembering gives the relay a data directory, which it keeps over restarts.
func Remembering() RelayOption {
	return func(c *relayConfig) { c.dataDir = true }
}

// Inside runs the relay in a network namespace of its own, with mDNS.
func Inside(ns *Namespace) RelayOption {
	return func(c *relayConfig) { c.wrap, c.mdns = ns.wrap, true }
}

// On runs the relay on a machine of a LAN, with an admin address, and listening on port
// 7400 of every address of the machine.
func On(m *Machine) RelayOption {
	return func(c *relayConfig) {
		c.on, c.wrap, c.listen = m, m.wrap, "/ip4/0.0.0.0/tcp/"+strconv.Itoa(MachinePort)
	}
}

// MachinePort is where relays on machines listen.
const MachinePort = 7400

// Unasked has the relay choose where it listens.
func Unasked() RelayOption { return func(c *relayConfig) { c.anyPort = true } }

// ClockOff makes the wall clock of the relay's machine wrong by so much, in seconds.
// StepClock changes it.
func ClockOff(t TB, by time.Duration) RelayOption {
	file := filepath.Join(Folder(t), "clock")
	step(t, file, by)
	return func(c *relayConfig) { c.clock = file }
}

// StepClock sets the wall clock of a relay with ClockOff, which notices within 20 ms.
func (r *Relay) StepClock(by time.Duration) {
	r.t.Helper()
	step(r.t, r.cfg.clock, by)
}

func step(t TB, file string, by time.Duration) {
	t.Helper()
	must(t, os.WriteFile(file+".new", []byte(by.String()), 0o600))
	must(t, os.Rename(file+".new", file))
}

// Relay is one `arke relay`, over all its restarts.
type Relay struct {
	*Process // the current run
	beside

	t       TB
	name    string
	network *Network
	cfg     relayConfig
	ready   readyLine
	flags   []string
	eye     *client.Client // made when first needed; attaches again by itself
}

// readyLine is what a relay prints when it serves.
type readyLine struct {
	Peer   string   `json:"peer"`
	Addrs  []string `json:"addrs"`
	Socket string   `json:"socket"`
}

// Relay starts a relay and waits until it serves.
func (n *Network) Relay(name string, options ...RelayOption) *Relay {
	n.t.Helper()
	r := n.Prepared(name, options...)
	r.Launch()
	r.await()
	return r
}

// Prepared is a relay that was not started yet.
func (n *Network) Prepared(name string, options ...RelayOption) *Relay {
	n.t.Helper()
	r := &Relay{
		t:       n.t,
		name:    name,
		network: n,
		cfg:     relayConfig{verb: []string{"relay"}, listen: "/ip4/127.0.0.1/tcp/0"},
		beside:  beside{n.t, filepath.Join(n.dir, name+".sock")},
	}
	for _, o := range options {
		o(&r.cfg)
	}
	return r
}

// Launch starts the process and does not wait until it serves.
func (r *Relay) Launch() {
	r.t.Helper()
	r.flags = []string{"--key-file", r.network.key, "--socket", r.socket}
	if !r.cfg.anyPort {
		r.flags = append(r.flags, "--listen", r.cfg.listen)
	}
	if r.cfg.dataDir {
		r.flags = append(r.flags, "--data-dir", DataDirOf(r))
	}
	if !r.cfg.mdns {
		r.flags = append(r.flags, "--no-mdns")
	}
	if r.cfg.on != nil {
		r.flags = append(r.flags, "--name", r.name, "--admin", "unix:"+adminOf(r))
	}
	for _, seed := range r.cfg.seeds {
		r.flags = append(r.flags, "--seed", seed)
	}
	r.flags = append(r.flags, r.cfg.args...)
	binary, env := Binary(r.t), []string(nil)
	if r.cfg.clock != "" {
		binary, env = BinaryWithClock(r.t), []string{clockVariable + "=" + r.cfg.clock}
	}
	argv := slices.Concat([]string{binary}, r.cfg.verb, r.flags)
	if r.cfg.wrap != nil {
		argv = r.cfg.wrap(argv)
	}
	r.Process = spawn(r.t, "relay "+r.name, "arke relay ready ", env, argv...)
}

// await waits until the relay serves and remembers where it listens.
func (r *Relay) await() {
	r.t.Helper()
	line := r.waitReady()
	if err := json.Unmarshal([]byte(line), &r.ready); err != nil {
		r.t.Fatalf("relay %s: ready line %q: %v", r.name, line, err)
	}
	if r.ready.Socket != r.socket || r.ready.Peer == "" || len(r.ready.Addrs) == 0 {
		r.t.Fatalf("relay %s: ready line %q lacks something", r.name, line)
	}
	if r.cfg.on != nil {
		return // it comes back where it was
	}
	// A relay comes back where its peers look for it.
	r.cfg.listen, _, _ = strings.Cut(r.ready.Addrs[0], "/p2p/")
}

// Restart starts the relay again with the same flags and these options, at the
// same address, and waits until it serves. The old run must have ended.
func (r *Relay) Restart(options ...RelayOption) {
	r.t.Helper()
	for _, o := range options {
		o(&r.cfg)
	}
	r.Launch()
	r.await()
}

// RestartAll starts all of them again, at the same time.
func RestartAll(relays ...*Relay) {
	for _, r := range relays {
		r.t.Helper()
		r.Launch()
	}
	for _, r := range relays {
		r.t.Helper()
		r.await()
	}
}

// Forget takes away the relays that were named by Seed, for the next start.
func (r *Relay) Forget() { r.cfg.seeds = nil }

// Addr returns the relay's first address with its peer id.
func (r *Relay) Addr() string { return r.ready.Addrs[0] }

// HostPort returns the same address as HOST:PORT.
func (r *Relay) HostPort() string {
	parts := strings.Split(r.Addr(), "/") // "", ip4, host, tcp, port, p2p, peer
	return parts[2] + ":" + parts[4]
}

// Peer returns the relay's peer id.
func (r *Relay) Peer() string { return r.ready.Peer }

// Client attaches the test process to the relay, for as long as the test
// lives.
func (r *Relay) Client() *client.Client {
	r.t.Helper()
	return Attach(r.t, client.Config{Socket: r.socket})
}

// Attach is Client for other ways to attach.
func Attach(t TB, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatalf("attaching to %s: %v", cfg.Socket, err)
	}
	return c
}

// Echoed sends a request to a cluster that echoes, and returns an error unless the reply is
// the same and comes in time.
func Echoed(c *client.Client, limit time.Duration, cluster, body string, options ...patterns.RequestOption) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	reply, err := c.Request(ctx, cluster, patterns.Message{Body: []byte(body)}, options...)
	if err == nil && string(reply.Body) != body {
		err = fmt.Errorf("the reply to %s is %q", body, reply.Body)
	}
	return err
}

// ThereAndBack sends a message through a tunnel, at the other end of which is an echo, and
// returns an error unless it comes back in time.
func ThereAndBack(t patterns.Tunnel, limit time.Duration, message string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := t.Send(ctx, []byte(message)); err != nil {
		return err
	}
	got, err := t.Receive(ctx)
	if err == nil && string(got) != message {
		err = fmt.Errorf("%q came back for %q", got, message)
	}
	return err
}

// Status is what a relay says about itself, as far as the tests look.
type Status struct {
	Peers       int               `json:"peers"` // other nodes that it knows of
	Links       []LinkStatus      `json:"links"`
	Seeds       []SeedStatus      `json:"seeds"`
	Drops       map[string]uint64 `json:"drops"` // of the node
	Certificate struct {
		Fault        string `json:"fault"`
		Renewals     uint64 `json:"renewals"`
		RenewalFault string `json:"renewal_fault"`
		Issuer       struct {
			Renewed uint64 `json:"renewed"`
		} `json:"issuer"`
	} `json:"certificate"`
	Relay struct {
		Drops map[string]uint64 `json:"drops"` // of the sessions
	} `json:"relay"`
}

// SeedStatus is what a relay says about a seed.
type SeedStatus struct {
	State string `json:"state"`
	Error string `json:"error"`
}

// LinkStatus is what a relay says about a link.
type LinkStatus struct {
	Peer  string `json:"peer"`
	State string `json:"state"`
}

// Status asks the relay, and returns what it said also as text.
func (r *Relay) Status() (Status, string, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	var s Status
	text, err := r.observer().Status(ctx)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, string(text), err
}

// Dropped returns how often the relay, or its node, has dropped or refused
// something for the reason.
func (r *Relay) Dropped(reason string) uint64 {
	r.t.Helper()
	s, _, err := r.Status()
	must(r.t, err)
	return s.Drops[reason] + s.Relay.Drops[reason]
}

// observer returns the client through which the harness itself looks.
func (r *Relay) observer() *client.Client {
	r.t.Helper()
	if r.eye == nil {
		r.eye = r.Client()
	}
	return r.eye
}

// knows returns an error unless the relay knows of that many others.
func knows(r *Relay, count int) error {
	r.t.Helper()
	s, _, err := r.Status()
	if err == nil && s.Peers < count {
		err = fmt.Errorf("relay %s knows of %d others", r.name, s.Peers)
	}
	return err
}

// KnowsAnybody returns an error unless the relay knows of another node or has
// a link to one.
func (r *Relay) KnowsAnybody() error {
	r.t.Helper()
	s, text, err := r.Status()
	if err == nil && s.Peers == 0 && len(s.Links) == 0 {
		err = fmt.Errorf("relay %s knows of nobody: %s", r.name, text)
	}
	return err
}

// Members returns the members of a cluster as the relay's callers see them.
func (r *Relay) Members(cluster string) ([]patterns.Member, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	members, err := r.observer().Members(ctx, cluster)
	if errors.Is(err, patterns.ErrNoMembers) {
		err = nil
	}
	return members, err
}

// State is that of the member at another relay, as this one's callers see it; without
// one it is "gone".
func (r *Relay) State(cluster string, at *Relay) (state string, err error) {
	r.t.Helper()
	members, err := r.Members(cluster)
	state = "gone"
	for _, m := range members {
		if m.Peer == at.Peer() {
			state = m.State
		}
	}
	return state, err
}

// Sees waits until the relay's callers see that many members of a cluster.
func (r *Relay) Sees(count int, cluster string) {
	r.t.Helper()
	Eventually(r.t, Patience, fmt.Sprintf("that relay %s sees %d members of %s", r.name, count, cluster), func() error {
		members, err := r.Members(cluster)
		if err == nil && len(members) != count {
			err = fmt.Errorf("it sees %d", len(members))
		}
		return err
	})
}

// Ignores fails the test if the relay's status names the other's peer id, but for
// the seeds it was given, or calls it reached there.
func (r *Relay) Ignores(other *Relay) {
	r.t.Helper()
	_, text, err := r.Status()
	must(r.t, err)
	var given struct{ Seeds json.RawMessage }
	var seeds []struct{ Addr, State, Peer string }
	must(r.t, json.Unmarshal([]byte(text), &given))
	must(r.t, json.Unmarshal(given.Seeds, &seeds))
	for _, s := range seeds {
		if s.Peer == other.Peer() || strings.Contains(s.Addr, other.Peer()) && s.State == "reached" {
			r.t.Fatalf("relay %s has reached %s: %+v", r.name, other.name, s)
		}
	}
	if strings.Contains(strings.Replace(text, string(given.Seeds), "", 1), other.Peer()) {
		r.t.Fatalf("relay %s knows of %s: %s", r.name, other.name, text)
	}
}

// mostUnderWay bounds the requests of a load without an outcome, or a machine that
// can't keep up with its rate would come to the limits of its clients.
const mostUnderWay = 2000

// Load sends requests at a steady rate until it is stopped. It is an open
// loop: a slow answer does not delay the next request, unless 2,000 are slow.
type Load struct {
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu sync.Mutex
	// Guarded by mu.
	begun    int           // requests
	outcomes map[int]error // of each request, by number
}

// StartLoad calls do rate times per second, each on a goroutine of its own,
// with numbers from 0.
func StartLoad(t TB, rate int, do func(n int) error) *Load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{stop: cancel, outcomes: make(map[int]error)}
	l.wg.Go(func() { l.run(ctx, rate, do) })
	t.Cleanup(func() { l.Stop() })
	return l
}

func (l *Load) run(ctx context.Context, rate int, do func(n int) error) {
	begin := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for next := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		due := int(time.Since(begin).Seconds() * float64(rate))
		for room := mostUnderWay - l.underWay(); next < due && room > 0; next, room = next+1, room-1 {
			n := next
			l.mu.Lock()
			l.begun++
			l.mu.Unlock()
			l.wg.Go(func() { l.one(n, do) })
		}
	}
}

func (l *Load) one(n int, do func(n int) error) {
	err := do(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[n] = err
}

// underWay returns how many requests have begun, and not ended.
func (l *Load) underWay() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun - len(l.outcomes)
}

// Sent returns how many requests have begun.
func (l *Load) Sent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// Done returns how many requests have ended.
func (l *Load) Done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.outcomes)
}

// Stop ends the load, waits for the last answer, and returns the outcome of
// each request by its number.
func (l *Load) Stop() map[int]error {
	l.stop()
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcomes
}
