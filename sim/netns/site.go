// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"os/exec"
)

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

// flags are those of a relay that runs there.
func (s *site) flags() []string {
	return []string{"--listen", fmt.Sprintf("/ip4/%s/tcp/%d", s.addr, relayPort)}
}

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
