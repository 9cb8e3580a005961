// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

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

// newCrew makes the folder and a fresh network file in it.
func newCrew(binary string) (*crew, error) {
	dir, err := os.MkdirTemp("", "arke-demo-")
	if err != nil {
		return nil, err
	}
	c := &crew{binary: binary, dir: dir}
	network, err := security.GenerateNetworkFile("demo", rand.Reader)
	if err == nil {
		err = security.WriteNetworkFile(c.path("network"), network)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return c, nil
}

func (c *crew) path(name string) string { return filepath.Join(c.dir, name) }

// socket returns the socket of relay n; the first one is 1.
func (c *crew) socket(n int) string { return c.path(fmt.Sprintf("relay-%d.sock", n)) }

// startRelay starts relay n, perhaps again, and does not wait for it.
func (c *crew) startRelay(n int) error {
	name := "relay-" + strconv.Itoa(n)
	args := []string{
		"relay", "--key-file", c.path("network"), "--listen", "/ip4/127.0.0.1/tcp/0", "--no-mdns",
		"--socket", c.socket(n), "--data-dir", c.path(name), "--log-level", "warn",
	}
	if c.seed != "" {
		args = append(args, "--seed", c.seed)
	}
	p, err := start(name, c.binary, c.path(name+".log"), "arke relay ready ", args...)
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

// waitRelay waits until relay n serves and returns its first address.
func (c *crew) waitRelay(ctx context.Context, n int) (string, error) {
	line, err := c.relays[n-1].waitReady(ctx)
	if err != nil {
		return "", err
	}
	var ready struct {
		Addrs []string `json:"addrs"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		return "", fmt.Errorf("demo: relay-%d said %q: %w", n, line, err)
	}
	if len(ready.Addrs) == 0 {
		return "", fmt.Errorf("demo: relay-%d has no address", n)
	}
	return ready.Addrs[0], nil
}

// startMember starts the member beside relay n and waits until it serves.
func (c *crew) startMember(ctx context.Context, n int) error {
	name := memberName(n)
	p, err := start(name, c.binary, c.path(name+".log"), "arke demo member ready",
		"demo", "member", "--name", name, "--socket", c.socket(n))
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
	if c.seed, err = c.waitRelay(ctx, 1); err != nil {
		return err
	}
	for n := 2; n <= size; n++ {
		if err := c.startRelay(n); err != nil {
			return err
		}
	}
	for n := 1; n <= size; n++ {
		if n > 1 {
			if _, err := c.waitRelay(ctx, n); err != nil {
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
		done := make(chan struct{})
		for _, p := range group {
			go func() { p.stop(); done <- struct{}{} }()
		}
		for range group {
			<-done
		}
	}
	os.RemoveAll(c.dir)
}
