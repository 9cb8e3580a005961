// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

// Config says what is to be looked at: a relay's configuration.
type Config struct {
	// Network is the network file, or NetworkErr why there is none.
	Network    security.NetworkFile
	NetworkErr error
	DataDir    string
	Socket     string
	Listen     []string // multiaddrs
	AnyPort    bool     // nobody asked for them: another port does as well
	Seeds      []string
	NoMDNS     bool

	// Running returns the status of the relay at Socket, and of its node.
	Running func(ctx context.Context) (Running, error)
}

// Running is what a relay that runs says.
type Running struct {
	node.Status
	Relay relay.Status `json:"relay"`
}

// patience bounds each question to somebody else.
const patience = 8 * time.Second

// Examine looks at everything, and reports each finding as soon as there is one. It
// returns how many problems there are.
func Examine(ctx context.Context, cfg Config, report func(Finding)) (problems int) {
	add := func(found ...Finding) {
		for _, f := range found {
			if f.Grade == Problem {
				problems++
			}
			report(f)
		}
	}
	running, err := cfg.Running(ctx)
	add(socket(cfg, err))
	add(keyFile(cfg, err == nil))
	if d := running.Data; d != nil && d.Error != "" {
		add(problem("data directory", "make room, or let the relay's user write it", "the relay can't write %s: %s", d.Dir, d.Error))
	} else {
		add(dataDir(cfg, err == nil))
	}
	add(limits(), localNetwork(cfg))
	if err != nil {
		add(ports(cfg)...) // a relay that runs has its own
	}
	seeds := cfg.Seeds
	for _, s := range running.Seeds {
		if !slices.Contains(seeds, s.Addr) {
			seeds = append(seeds[:len(seeds):len(seeds)], s.Addr)
		}
	}
	for _, s := range seeds {
		add(seed(ctx, s, patience))
	}
	switch {
	case err == nil:
		add(network(running.Status, "the relay")...)
		add(certificate(running.Status, time.Now()), clients(running.Relay), drops(running.Status))
	case cfg.NetworkErr != nil:
		add(skipped("network", "without a network file nobody can join"))
	default:
		add(visit(ctx, cfg)...)
	}
	return problems
}
