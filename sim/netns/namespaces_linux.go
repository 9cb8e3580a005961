// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"go.uber.org/zap"
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

func (a address) String() string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }

// namespaces is the fabric in which each node has a network namespace, and the
// router moves the packets.
type namespaces struct{ router *router }

var _ fabric = (*namespaces)(nil)

func newNamespaces(w *wires, now func() time.Duration, log *zap.Logger) (fabric, error) {
	r, err := newRouter(w, now, log)
	if err != nil {
		return nil, err
	}
	return &namespaces{r}, nil
}

// probeNamespaces says why namespaces can't be had here; nil if they can.
func probeNamespaces() error {
	g, err := newGround(addressOf(0), networkMask())
	if err != nil {
		return err
	}
	g.close()
	return nil
}

func (n *namespaces) seed(number int) (string, error) {
	return fmt.Sprintf("%s:%d", addressOf(number), relayPort), nil
}

func (n *namespaces) open(name string, number int) (site, error) {
	if number >= maxNodes {
		return nil, errors.New("netns: too many nodes")
	}
	addr := addressOf(number)
	g, err := newGround(addr, networkMask())
	if err != nil {
		return nil, err
	}
	n.router.plug(name, addr, g.tun)
	return &plot{n.router, addr, g}, nil
}

func (n *namespaces) resume(all []parcel) { n.router.resume(all) }

func (n *namespaces) stats(s *Stats) {
	for f := range fates {
		s.Packets[f.String()] = n.router.counts[f].Load()
	}
	s.LateP50, s.LateP99 = n.router.post.late.percentile(50), n.router.post.late.percentile(99)
}

func (n *namespaces) close() { n.router.close() }

// plot is a ground that is plugged into the router.
type plot struct {
	router *router
	addr   address
	ground *ground
}

var _ site = (*plot)(nil)

func (p *plot) flags() []string {
	return []string{"--listen", fmt.Sprintf("/ip4/%s/tcp/%d", p.addr, relayPort)}
}

func (p *plot) start(cmd *exec.Cmd) error { return p.ground.run(cmd.Start) }

func (p *plot) close() {
	p.router.unplug(p.addr)
	p.ground.close()
}
