// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

const loopback = "/ip4/127.0.0.1/tcp/0"

// parts of this program that run in processes of their own, because each has a
// limit on files, and processor time and memory that are not another's.
var parts = map[string]func(args []string) error{
	"clusters": clustersPart,
	"crowd":    crowdPart,
	"dummy":    func([]string) error { return dummy() },
	"mute":     func(args []string) error { return mute(args[0], args[1], args[2]) },
	"passing":  func(args []string) error { return passing(args[0], args[1], args[2]) },
	"stalled":  func(args []string) error { return stalled(args[0], args[1]) },
	"silent":   func(args []string) error { return attack(args[0], newSilent, silently()) },
	"onebyte":  func(args []string) error { return attack(args[0], newSilent, mumbling()) },
	"wrongkey": func(args []string) error { return attack(args[0], newWrongKey, withAnotherKey()) },
}

// part is a part of this program that runs.
type part struct {
	m       *meter
	name    string
	process *os.Process
	stop    func()
	lines   *bufio.Scanner
}

// runs begins a part of this program.
func runs(m *meter, args ...string) *part {
	self, err := os.Executable()
	m.must(err)
	c := exec.Command(self, append([]string{"-part"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	m.must(err)
	_, err = c.StdinPipe() // it ends with us
	m.must(err)
	m.must(c.Start())
	stop := sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	m.Cleanup(stop)
	return &part{m: m, name: args[0], process: c.Process, stop: stop, lines: bufio.NewScanner(out)}
}

// line waits for the next line that the part says.
func (p *part) line() string {
	if !p.lines.Scan() {
		p.m.Fatalf("part %q ended early", p.name)
	}
	return p.lines.Text()
}

// runPart is the main function of a part: it ends when its input does.
func runPart(args []string) error {
	failed := make(chan error, 1)
	go func() { failed <- parts[args[0]](args[1:]) }()
	go func() {
		_, err := bufio.NewReader(os.Stdin).ReadByte()
		failed <- err
	}()
	return <-failed
}

// startNode starts a node of the network with that file; the first one has no seed.
func startNode(keyFile, seed string) (*node.Node, error) {
	file, err := security.ReadNetworkFile(keyFile)
	if err != nil {
		return nil, err
	}
	config := node.Config{Network: file, Listen: []string{loopback}, NoMDNS: true}
	if seed != "" {
		config.Seeds = []string{seed}
	}
	n, err := node.New(config)
	if err != nil {
		return nil, err
	}
	return n, n.Start(context.Background())
}

// meets waits until a node knows so many others.
func meets(n *node.Node, others int) error {
	for begin := time.Now(); n.Status().Peers < others; wait(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			return errors.New("the nodes don't find each other")
		}
	}
	return nil
}
