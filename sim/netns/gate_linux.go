// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"sync"
)

// hiddenHost is where relays listen; nobody is told. A relay's port there is
// that of its gate on 127.0.0.1, so it is free.
const hiddenHost = "127.77.0.1"

// gate stands in front of a relay: what others know as the relay's address.
type gate struct {
	// Immutable.
	proxies  *proxies
	listener *net.TCPListener

	// Guarded by proxies.mu.
	name string // "" = others were told, but the node was not started yet
	pid  int    // of the relay; 0 = none

	wg sync.WaitGroup // its passages
}

var _ site = (*gate)(nil)

func (g *gate) port() string { return strconv.Itoa(g.listener.Addr().(*net.TCPAddr).Port) }

func (g *gate) flags() []string {
	return []string{
		"--listen", fmt.Sprintf("/ip4/%s/tcp/%s", hiddenHost, g.port()),
		"--advertise", "/ip4/127.0.0.1/tcp/" + g.port(),
	}
}

func (g *gate) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	g.belongs(cmd.Process.Pid)
	return nil
}

// close implements site: the process is dead, and wires have no power.
func (g *gate) close() { g.belongs(0) }

func (g *gate) belongs(pid int) {
	g.proxies.mu.Lock()
	defer g.proxies.mu.Unlock()
	g.pid = pid
}

func (g *gate) owner() string {
	g.proxies.mu.Lock()
	defer g.proxies.mu.Unlock()
	return g.name
}

// accept runs until the listener is closed.
func (g *gate) accept() {
	defer g.wg.Wait()
	for {
		conn, err := g.listener.AcceptTCP()
		if err != nil {
			return
		}
		g.wg.Go(func() { g.admit(conn) })
	}
}

// admit finds out who it is and lets it pass.
func (g *gate) admit(conn *net.TCPConn) {
	from := g.proxies.owner(socketOf(conn.RemoteAddr(), conn.LocalAddr()))
	x := newPassage(g.proxies, conn, from, g.owner())
	if from == "" || x.to == "" || !g.proxies.add(x) {
		x.finish(true)
		return
	}
	defer g.proxies.remove(x)
	x.run(net.JoinHostPort(hiddenHost, g.port()))
}
