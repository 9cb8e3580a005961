// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/node"
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

	turn sync.Mutex // of whoever starts or ends it

	// Guarded by turn.
	site *site        // nil = it has no place in the network
	life *participant // the last one; nil = never started
}

// start runs what the spec says, with the seeds of each of its networks. The caller has
// the turn, and the place has a site.
func (p *place) start(ctx context.Context, cfg Config, spec play.NodeSpec, seeds [][]string) (play.Participant, error) {
	run, what := p.relay, "node"
	if spec.Gateway != nil {
		run, what = p.bridge, "gateway"
	}
	life, err := run(ctx, cfg, spec, seeds)
	if err != nil {
		return nil, fmt.Errorf("netns: %s %s: %w", what, p.name, err)
	}
	p.life = life
	return life, nil
}

// launch starts a process, waits until it serves, and has attach make a life of it.
func (p *place) launch(ctx context.Context, cmd *exec.Cmd, ready string, attach func(*process, readyLine) (*participant, error)) (*participant, error) {
	process, err := startProcess(p.site, cmd, ready, filepath.Join(p.dir, "log"))
	if err != nil {
		return nil, err
	}
	line, err := process.awaitReady(ctx)
	var life *participant
	if err == nil {
		life, err = attach(process, line)
	}
	if err != nil {
		process.kill()
	}
	return life, err
}

func (p *place) command(cfg Config, spec play.NodeSpec, seeds []string) *exec.Cmd {
	args := []string{
		"relay", "--listen", p.site.listen(0), "--no-mdns", "--socket", p.socket, "--data-dir", filepath.Join(p.dir, "data"), "--log-level", cfg.LogLevel,
	}
	if spec.Zone != "" {
		args = append(args, "--zone", spec.Zone)
	}
	for _, s := range seeds {
		args = append(args, "--seed", s)
	}
	cmd := exec.Command(cfg.Binary, args...)
	cmd.Env = append(withoutArke(os.Environ()), "ARKE_NETWORK="+string(spec.Network.Encode()))
	return cmd
}

// withoutArke leaves out of an environment what configures arke.
func withoutArke(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "ARKE_") })
}

// relay runs a relay and attaches to it.
func (p *place) relay(ctx context.Context, cfg Config, spec play.NodeSpec, seeds [][]string) (*participant, error) {
	return p.launch(ctx, p.command(cfg, spec, seeds[0]), relayReady, func(process *process, ready readyLine) (*participant, error) {
		c, err := client.New(client.Config{Socket: p.socket, Name: "player", Logger: cfg.Logger})
		if err != nil {
			return nil, err
		}
		if err := c.Start(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		return &participant{Client: c, process: process, peer: ready.Peer}, nil
	})
}

// alive says whether the node runs, or is paused. The caller has the turn.
func (p *place) alive() bool { return p.life != nil && p.life.process.alive() }

// close ends whatever the node still runs.
func (p *place) close() (err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
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

// port on which every relay listens in its namespace.
const relayPort = 7400

// maxNodes is how many addresses there are.
const maxNodes = 250 * 250

// networkMask is that of 10.77.0.0/16, in which the nodes live.
func networkMask() address { return address{255, 255, 0, 0} }

// addressOf returns the address of the node with that number.
func addressOf(number int) address {
	return address{10, 77, byte(number / 250), byte(1 + number%250)}
}

// seedOf is HOST:PORT at which others find the node with that number.
func seedOf(number int) string { return fmt.Sprintf("%s:%d", addressOf(number), relayPort) }

// site is a node's place in the network: a ground that is plugged into the
// router.
type site struct {
	router *router
	addr   address
	ground *ground
}

// openSite makes the place of the node with that number. The caller closes it.
func openSite(r *router, name string, number int) (*site, error) {
	if number >= maxNodes {
		return nil, errors.New("netns: too many nodes")
	}
	addr := addressOf(number)
	g, err := newGround(addr, networkMask())
	if err != nil {
		return nil, err
	}
	r.plug(name, addr, g.tun)
	return &site{r, addr, g}, nil
}

// listen is the address of the ith node of a process there.
func (s *site) listen(i int) string { return fmt.Sprintf("/ip4/%s/tcp/%d", s.addr, relayPort+i) }

// start starts a process there.
func (s *site) start(cmd *exec.Cmd) error { return s.ground.run(cmd.Start) }

// close ends it at once: nothing that runs there sends anything any more.
func (s *site) close() {
	s.router.unplug(s.addr)
	s.ground.close()
}

// Supported says why this level can't run here, and what to do about it; nil if
// it can.
func Supported() error {
	g, err := newGround(addressOf(0), networkMask())
	if err != nil {
		return fmt.Errorf("level net gives each node a network namespace, which takes Linux, root and /dev/net/tun: run it with sudo, "+
			"or take --level stack or --level sim, which take nothing (%w)", err)
	}
	g.close()
	return nil
}

// participant is one life of a node: a relay's process and this program's place at it.
// Of a gateway it is the process only, which no program attaches to.
type participant struct {
	*client.Client
	process *process
	peer    string
	peers   map[string]string // of a gateway, by its networks
}

var (
	_ play.Participant = (*participant)(nil)
	_ play.Border      = (*participant)(nil)
)

// Peers implements play.Border; a node has none.
func (p *participant) Peers() map[string]string { return p.peers }

// Now implements play.Participant: all nodes share the machine's clock.
func (p *participant) Now() time.Time { return time.Now() }

// Within implements play.Participant.
func (p *participant) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.peer }

// Status implements play.Participant.
func (p *participant) Status(ctx context.Context) (node.Status, error) {
	var s node.Status
	if p.Client == nil {
		return s, unsupported("nobody asks a gateway what it uses")
	}
	text, err := p.Client.Status(ctx)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("netns: the relay's status: %w", err)
	}
	return s, nil
}

// Shutdown drains the client and then its relay, as a service and its relay
// are restarted in production.
func (p *participant) Shutdown(ctx context.Context) error {
	_ = p.process.pause(false) // or it can't drain
	if p.Client == nil {
		return p.process.terminate(ctx)
	}
	return errors.Join(p.Client.Shutdown(ctx), p.process.terminate(ctx))
}

// Close ends the relay and the client at once.
func (p *participant) Close() error {
	p.process.kill()
	if p.Client == nil {
		return nil
	}
	return p.Client.Close()
}

// folderPrefix begins the names of the temporary folders; the process id
// follows.
const folderPrefix = "arke-net-"

// newFolder makes a temporary folder of this process, and removes those of
// processes that are gone. Its path is short: those of sockets in it must have
// less than about a hundred bytes.
func newFolder() (string, error) {
	sweep(os.TempDir())
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
}

// sweep removes what runs left behind that did not come to their end.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	for _, path := range left {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), folderPrefix), "-")
		if pid, err := strconv.Atoi(text); err == nil && !running(pid) {
			_ = os.RemoveAll(path)
		}
	}
}

// running says whether there may be a process with that id.
func running(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil || !os.IsNotExist(err)
}
