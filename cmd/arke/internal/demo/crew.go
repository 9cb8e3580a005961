// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/security"
)

// cluster is the name under which the members serve.
const cluster = "zones"

// crew is the demo's child processes and the folder they live in.
type crew struct {
	binary  string
	dir     string
	relays  []*process
	members []*process
	seed    string // address of the first relay
}

// newCrew makes the folder and fresh network files in it, of these names.
func newCrew(binary string, networks ...string) (*crew, error) {
	dir, err := os.MkdirTemp("", "arke-demo-")
	if err != nil {
		return nil, err
	}
	c := &crew{binary: binary, dir: dir}
	for _, name := range networks {
		network, err := security.GenerateNetworkFile(name, rand.Reader)
		if err == nil {
			err = security.WriteNetworkFile(c.path(name), network)
		}
		if err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
	}
	return c, nil
}

func (c *crew) path(name string) string { return filepath.Join(c.dir, name) }

// socket returns the socket of relay n; the first one is 1.
func (c *crew) socket(n int) string { return c.path(fmt.Sprintf("relay-%d.sock", n)) }

// launch starts a child of this name; prefix begins its ready line.
func (c *crew) launch(name, prefix string, args ...string) (*process, error) {
	return start(name, c.binary, c.path(name+".log"), prefix, args...)
}

// relay starts a relay of a network, perhaps again, and does not wait for it. Its socket
// has its name; seed is "" for the first one.
func (c *crew) relay(name, network, seed string) (*process, error) {
	args := []string{
		"relay", "--key-file", c.path(network), "--listen", "/ip4/127.0.0.1/tcp/0", "--no-mdns",
		"--socket", c.path(name + ".sock"), "--data-dir", c.path(name), "--log-level", "warn",
	}
	if seed != "" {
		args = append(args, "--seed", seed)
	}
	return c.launch(name, "arke relay ready ", args...)
}

// startRelay starts relay n, perhaps again, and does not wait for it.
func (c *crew) startRelay(n int) error {
	p, err := c.relay("relay-"+strconv.Itoa(n), "demo", c.seed)
	if err != nil {
		return err
	}
	if n <= len(c.relays) {
		c.relays[n-1] = p
	} else {
		c.relays = append(c.relays, p)
	}
	return nil
}

// startMember starts the member beside relay n and waits until it serves.
func (c *crew) startMember(ctx context.Context, n int) error {
	name := memberName(n)
	p, err := c.launch(name, "arke demo member ready", "demo", "member", "--name", name, "--socket", c.socket(n))
	if err != nil {
		return err
	}
	c.members = append(c.members, p)
	_, err = p.waitReady(ctx)
	return err
}

func memberName(n int) string { return "zones-" + strconv.Itoa(n) }

// gather starts everything: the first relay, the others with the first as
// seed, and a member beside each.
func (c *crew) gather(ctx context.Context, size int) error {
	if err := c.startRelay(1); err != nil {
		return err
	}
	var err error
	if c.seed, err = c.relays[0].address(ctx); err != nil {
		return err
	}
	for n := 2; n <= size; n++ {
		if err := c.startRelay(n); err != nil {
			return err
		}
	}
	for n := 1; n <= size; n++ {
		if n > 1 {
			if _, err := c.relays[n-1].address(ctx); err != nil {
				return err
			}
		}
		if err := c.startMember(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// dismiss ends every process and removes the folder.
func (c *crew) dismiss() {
	for _, group := range [][]*process{c.members, c.relays} {
		var ending sync.WaitGroup
		for _, p := range group {
			ending.Go(p.stop)
		}
		ending.Wait()
	}
	os.RemoveAll(c.dir)
}

const (
	readyTime = 20 * time.Second // until a child must be ready
	stopTime  = 5 * time.Second  // between SIGTERM and SIGKILL
)

// process is one child.
type process struct {
	name string
	log  string // file with its standard error
	cmd  *exec.Cmd
	// ready carries the rest of its ready line, then is closed.
	ready chan string
	// done is closed when it has ended and been waited for.
	done chan struct{}
}

// start runs the binary with args; prefix begins its ready line.
func start(name, binary, log, prefix string, args ...string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{name: name, log: log, ready: make(chan string, 1), done: make(chan struct{})}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stderr = file
	tie(p.cmd)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				select {
				case p.ready <- strings.TrimSpace(rest):
				default: // it said so before
				}
			}
		}
		close(p.ready)
		_ = p.cmd.Wait() // killed by us, or its log says why
	}()
	return p, nil
}

// waitReady returns the rest of the ready line.
func (p *process) waitReady(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	select {
	case line, ok := <-p.ready:
		if !ok {
			return "", fmt.Errorf("demo: %s ended before it was ready: %s", p.name, p.lastWords())
		}
		return line, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", fmt.Errorf("demo: %s was not ready after %s: %s", p.name, readyTime, p.lastWords())
		}
		return "", ctx.Err()
	}
}

// address waits until the process, which is a relay, serves, and returns its first address.
func (p *process) address(ctx context.Context) (string, error) {
	line, err := p.waitReady(ctx)
	if err != nil {
		return "", err
	}
	var ready struct {
		Addrs []string `json:"addrs"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		return "", fmt.Errorf("demo: %s said %q: %w", p.name, line, err)
	}
	if len(ready.Addrs) == 0 {
		return "", fmt.Errorf("demo: %s has no address", p.name)
	}
	return ready.Addrs[0], nil
}

// kill ends the process without asking, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// stop asks the process to end, and insists after a while.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTime):
		p.kill()
	}
}

// lastWords returns the end of the process's log as one line.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil || len(text) == 0 {
		return "it logged nothing"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}
