// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// service is what the demo of federation asks for.
const service = "geo"

// FederationConfig says how to run the demo of two networks. Executable is required.
type FederationConfig struct {
	Executable string
	// Phase is how long each part of the story takes at least; default 5 s.
	Phase time.Duration
	// Progress is told what happens, one line each; nil = nothing.
	Progress io.Writer
}

// FederationReport is how it went.
type FederationReport struct {
	Phases []FederationPhase `json:"phases"`
	// Spilled is how long after the near service was killed the far one gave the first
	// reply; Returned, how long after its relay was started again the near one gave nine
	// of ten.
	Spilled  time.Duration `json:"spilled_ns"`
	Returned time.Duration `json:"returned_ns"`
	Lost     int           `json:"lost"`

	faults []error
}

// FederationPhase is one part of the story.
type FederationPhase struct {
	Story    string         `json:"story"`
	Requests int            `json:"requests"`
	Lost     int            `json:"lost"`
	Served   map[string]int `json:"served"` // by network
	Slowest  time.Duration  `json:"slowest_ns"`
}

// Err says what was wrong, nil if nothing was.
func (r FederationReport) Err() error { return errors.Join(r.faults...) }

// Write prints the table.
func (r FederationReport) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nSTORY\tREQUESTS\tLOST\tSERVED IN US\tIN EU\tSLOWEST")
	for _, p := range r.Phases {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", p.Story, p.Requests, p.Lost, p.Served["us"], p.Served["eu"], p.Slowest.Round(time.Millisecond/10))
	}
	fmt.Fprintf(t, "\nfirst reply from the far network\t%s after the near service was killed\n", r.Spilled.Round(time.Millisecond))
	fmt.Fprintf(t, "nine of ten replies from the near one\t%s after its relay was started again\n", r.Returned.Round(time.Millisecond))
	return t.Flush()
}

// federation is one run: two relays of us, one of eu, and two gateways between them.
type federation struct {
	narrator
	cfg   FederationConfig
	crew  *crew
	addrs map[string]string // of relays, by network

	mu     sync.Mutex
	report FederationReport // guarded by mu
	recent []string         // guarded by mu: who gave the last replies
}

// RunFederation runs the demo to its end and reports, as Run does.
func RunFederation(ctx context.Context, cfg FederationConfig) (FederationReport, error) {
	cfg.Phase = cmp.Or(cfg.Phase, 5*time.Second)
	crew, err := newCrew(cfg.Executable, "us", "eu")
	if err != nil {
		return FederationReport{}, err
	}
	defer crew.dismiss()
	f := &federation{narrator: narrator{cfg.Progress, time.Now()}, cfg: cfg, crew: crew, addrs: map[string]string{}}
	if err := f.tell(ctx); err != nil {
		return FederationReport{}, err
	}
	return f.report, ctx.Err()
}

// relay starts a relay of a network, perhaps again, and waits for it.
func (f *federation) relay(ctx context.Context, network, name string) (*process, error) {
	p, err := f.crew.relay(name, network, f.addrs[network])
	if err != nil {
		return nil, err
	}
	f.crew.relays = append(f.crew.relays, p)
	addr, err := p.address(ctx)
	f.addrs[network] = cmp.Or(f.addrs[network], addr)
	return p, err
}

// gateway starts one that lends the service in both directions.
func (f *federation) gateway(ctx context.Context, name string) (*process, error) {
	text := "networks:\n"
	for _, network := range []string{"eu", "us"} {
		text += fmt.Sprintf("  %s:\n    key-file: %s\n    listen: [/ip4/127.0.0.1/tcp/0]\n    no-mdns: true\n    seed: [%s]\n    data-dir: %s\n",
			network, f.crew.path(network), f.addrs[network], f.crew.path(name+"-"+network))
	}
	text += "lend:\n  - {cluster: " + service + ", from: eu, to: us, reseal: true}\n  - {cluster: " + service + ", from: us, to: eu, reseal: true}\n"
	file := f.crew.path(name + ".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := f.crew.launch(name, "arke gateway ready ", "gateway", "--config", file, "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	f.crew.members = append(f.crew.members, p)
	_, err = p.waitReady(ctx)
	return p, err
}

// attach attaches this program to a relay.
func (f *federation) attach(ctx context.Context, name string) (*client.Client, error) {
	return attach(ctx, client.Config{Socket: f.crew.path(name + ".sock")})
}

// serve attaches a member that answers with the name of its network.
func (f *federation) serve(ctx context.Context, relay, network string) (*client.Client, error) {
	c, err := f.attach(ctx, relay)
	if err != nil {
		return nil, err
	}
	h := patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: []byte(network)}, nil
	})
	if _, err := c.Serve(ctx, service, h, patterns.Limits{}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (f *federation) tell(ctx context.Context) error {
	for _, r := range [][2]string{{"eu", "relay-eu"}, {"us", "relay-us"}} {
		if _, err := f.relay(ctx, r[0], r[1]); err != nil {
			return err
		}
	}
	near, err := f.relay(ctx, "us", "relay-near")
	if err != nil {
		return err
	}
	doomed, err := f.gateway(ctx, "gateway-1")
	if err != nil {
		return err
	}
	if _, err := f.gateway(ctx, "gateway-2"); err != nil {
		return err
	}
	far, err := f.serve(ctx, "relay-eu", "eu")
	if err != nil {
		return err
	}
	defer far.Close()
	f.say("two networks, us and eu, and two gateways; %s is served in eu only", service)
	caller, err := f.attach(ctx, "relay-us")
	if err != nil {
		return err
	}
	defer caller.Close()
	if err := sees(ctx, caller, service, 2); err != nil { // both gateways lend it
		return err
	}
	return f.play(ctx, caller, near, doomed)
}

// play is the story itself, while the caller asks.
func (f *federation) play(ctx context.Context, caller *client.Client, near, doomed *process) error {
	var member *client.Client
	defer func() {
		if member != nil {
			_ = member.Close()
		}
	}()
	nineOfTen := func() bool { return f.of("us") >= 0.9 }
	for _, scene := range []struct {
		story, address string
		happens        func() error
	}{
		{"only eu serves it", service, func() error { return nil }},
		{"us serves it, too", service, func() (err error) {
			f.say("a relay of us serves it, too")
			member, err = f.serve(ctx, "relay-near", "us")
			return errors.Join(err, f.until(ctx, "us serve nine of ten", nineOfTen))
		}},
		{"the one in us is killed", service, func() error {
			f.say("that relay is killed with SIGKILL")
			f.forget()
			killed := time.Now()
			near.kill()
			err := f.until(ctx, "eu serve", func() bool { return f.of("eu") > 0 })
			f.report.Spilled = time.Since(killed)
			return err
		}},
		{"it is back", service, func() error {
			started := time.Now()
			if _, err := f.relay(ctx, "us", "relay-near"); err != nil {
				return err
			}
			f.say("that relay is started again")
			err := f.until(ctx, "us serve nine of ten again", nineOfTen)
			f.report.Returned = time.Since(started)
			f.say("us serves nine of ten again")
			return err
		}},
		{"geo@eu; a gateway is killed", service + "@eu", func() error {
			f.say("%s@eu is asked now; a gateway is killed with SIGKILL", service)
			doomed.kill()
			return nil
		}},
	} {
		if err := f.phase(ctx, caller, scene.story, scene.address, scene.happens); err != nil {
			return err
		}
	}
	return nil
}

// until waits for something to happen, for returnTime at most.
func (f *federation) until(ctx context.Context, what string, happened func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	if !wait(ctx, happened) {
		return fmt.Errorf("demo: %s did not %s within %s", service, what, returnTime)
	}
	return nil
}

// of is the share that a network has of the last replies.
func (f *federation) of(network string) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, who := range f.recent {
		if who == network {
			n++
		}
	}
	return float64(n) / float64(max(len(f.recent), 1))
}

func (f *federation) forget() {
	f.mu.Lock()
	f.recent = nil
	f.mu.Unlock()
}

// askers is how many requests are under way.
const askers = 16

// phase has the caller ask while something happens, and for Phase at least.
func (f *federation) phase(ctx context.Context, caller *client.Client, story, address string, happens func() error) error {
	p := FederationPhase{Story: story, Served: map[string]int{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	over, asking := make(chan struct{}), sync.WaitGroup{}
	for range askers {
		asking.Go(func() {
			for !closed(over) {
				f.ask(ctx, caller, address, &p)
			}
		})
	}
	least := time.After(f.cfg.Phase)
	err := happens()
	select {
	case <-least:
	case <-ctx.Done():
	}
	close(over)
	asking.Wait()
	f.report.Phases = append(f.report.Phases, p)
	f.report.Lost += p.Lost
	f.say("%-28s %7d requests, lost %d, served in us %d, in eu %d", story, p.Requests, p.Lost, p.Served["us"], p.Served["eu"])
	return err
}

// ask sends one request that may be repeated, and notes what became of it.
func (f *federation) ask(ctx context.Context, caller *client.Client, address string, p *FederationPhase) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	reply, err := caller.Request(ctx, address, patterns.Message{}, patterns.Idempotent())
	took := time.Since(began)
	f.mu.Lock()
	p.Requests++
	p.Slowest = max(p.Slowest, took)
	if err != nil {
		p.Lost++
		if len(f.report.faults) < 3 {
			f.report.faults = append(f.report.faults, fmt.Errorf("demo: while %s: %w", p.Story, err))
		}
	} else {
		p.Served[string(reply.Body)]++
		f.recent = append(f.recent, string(reply.Body))
		f.recent = f.recent[max(0, len(f.recent)-200):]
	}
	f.mu.Unlock()
	select { // so that it is a load, and no benchmark
	case <-time.After(2 * time.Millisecond):
	case <-ctx.Done():
	}
}
