// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/sim/play"
)

// place is one node over all its lives: its number, its folder, and what it
// runs at the moment.
type place struct {
	// Immutable.
	name   string
	number int
	dir    string // of its data and log
	socket string // of its relay

	turn chan struct{} // holds an element while somebody starts or ends it

	// Owned by whoever has the turn.
	site *site        // nil = it has no place in the network
	life *participant // the last one; nil = never started
}

// take waits for the turn.
func (p *place) take() { p.turn <- struct{}{} }
func (p *place) give() { <-p.turn }

// start runs a relay and attaches to it. The caller has the turn, and the
// place has a site.
func (p *place) start(ctx context.Context, cfg Config, spec play.NodeSpec, seeds []string) (*participant, error) {
	process, err := startProcess(p.site, p.command(cfg, spec, seeds), filepath.Join(p.dir, "log"))
	if err != nil {
		return nil, fmt.Errorf("netns: node %s: %w", p.name, err)
	}
	life, err := p.attach(ctx, cfg, process)
	if err != nil {
		process.kill()
		return nil, fmt.Errorf("netns: node %s: %w", p.name, err)
	}
	p.life = life
	return life, nil
}

func (p *place) command(cfg Config, spec play.NodeSpec, seeds []string) *exec.Cmd {
	args := append([]string{"relay"}, p.site.flags()...)
	args = append(args,
		"--no-mdns", "--socket", p.socket, "--data-dir", filepath.Join(p.dir, "data"), "--log-level", cfg.LogLevel)
	if spec.Zone != "" {
		args = append(args, "--zone", spec.Zone)
	}
	for _, s := range seeds {
		args = append(args, "--seed", s)
	}
	cmd := exec.Command(cfg.Binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ARKE_") })
	cmd.Env = append(cmd.Env, "ARKE_NETWORK="+string(spec.Network.Encode()))
	return cmd
}

// attach waits until the relay serves.
func (p *place) attach(ctx context.Context, cfg Config, process *process) (*participant, error) {
	ready, err := process.awaitReady(ctx)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Config{Socket: p.socket, Name: "player", Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return &participant{Client: c, process: process, peer: ready.Peer}, nil
}

// alive says whether the node runs, or is paused. The caller has the turn.
func (p *place) alive() bool { return p.life != nil && p.life.process.alive() }

// close ends whatever the node still runs.
func (p *place) close() (err error) {
	p.take()
	defer p.give()
	if p.life != nil {
		err = p.life.Close()
	}
	p.vacate()
	return err
}

// vacate gives the site up, with whatever still runs there.
func (p *place) vacate() {
	if p.site != nil {
		p.site.close()
		p.site = nil
	}
}
