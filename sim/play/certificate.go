// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Issued is a Participant with a certificate.
type Issued interface {
	// Credentials is node.Node's.
	Credentials() node.Credentials
}

// noticed is how long after its end a certificate may still hold links: nodes look that
// often.
const noticed = 10 * time.Second

// authority issues the certificates of a scenario's nodes.
type authority struct {
	crew *crew
	keys map[security.NetworkID]security.Authority // by network; immutable

	mu   sync.Mutex
	list security.RevocationList // guarded by mu
}

// issue has nodes need certificates, if groups have some. Who is to be a stranger obeys
// none: the authority is not in its file.
func issue(c *crew) error {
	c.authority = &authority{crew: c, keys: make(map[security.NetworkID]security.Authority)}
	for _, g := range c.p.scenario.Nodes {
		if g.Certificate == "" {
			continue
		}
		for _, name := range g.Names() {
			if err := c.authority.enrol(c.by[name], g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *authority) enrol(n *crewNode, g scenario.Nodes) error {
	id := n.spec.Network.ID
	if _, known := a.keys[id]; !known {
		key, err := security.GenerateAuthority(id, Random(a.crew.p.scenario.Seed, "authority", n.key))
		if err != nil {
			return err
		}
		a.keys[id] = key
	}
	n.ends, n.idle = g.Ends.D(), g.Certificate == scenario.CertificateNothing
	n.gone = n.idle
	revoked := slices.ContainsFunc(a.crew.p.scenario.Timeline, func(act scenario.Action) bool {
		return act.Do == "revoke" && slices.Contains(act.Nodes, n.name)
	})
	if !n.idle && n.ends == 0 && !revoked {
		n.spec.Network.Issuance = security.Issuance{Authority: a.keys[id].ID(), Required: true}
	}
	allowed := []string{">"}
	if n.idle {
		allowed = nil
	}
	n.spec.Certify = func(p peer.ID, now time.Time) ([]byte, error) {
		c := security.Certificate{
			Serial: 1, Name: n.name, Peer: p, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
			Serve: allowed, Call: allowed, Publish: allowed, Subscribe: allowed,
		}
		if start := a.crew.p.start; n.ends > 0 && start > 0 {
			left := start + n.ends - a.crew.p.level.Now()
			c.NotAfter = now.Add(left - security.ClockTolerance)
		}
		return a.keys[id].Sign(c)
	}
	return nil
}

// expire has the certificates that end do so, and their nodes be out then.
func (a *authority) expire() {
	p := a.crew.p
	for _, n := range a.crew.nodes {
		if n.ends == 0 {
			continue
		}
		p.at(p.start, "certificate of "+n.name, func() {
			if err := a.show(n); err != nil {
				p.fail(fmt.Errorf("certificate of %s: %w", n.name, err))
			}
		})
		p.at(p.start+n.ends, "end of the certificate of "+n.name, func() { a.crew.safe.exclude(n, noticed) })
	}
}

// show gives a node that runs the certificate that ends: when it started nobody knew when
// that will be.
func (a *authority) show(n *crewNode) error {
	l := n.alive()
	if l == nil {
		return nil
	}
	k, ok := l.Participant.(Issued)
	if !ok {
		return fmt.Errorf("%w: certificates", ErrUnsupported)
	}
	id, err := peer.Decode(l.Peer())
	if err != nil {
		return err
	}
	signed, err := n.spec.Certify(id, l.Now())
	if err != nil {
		return err
	}
	return k.Credentials().Show(signed)
}

// revoke puts nodes on the list of revocations, which one other node reads.
func (a *authority) revoke(act scenario.Action) error {
	var network security.NetworkID
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range act.Nodes {
		n := a.crew.by[name]
		id, err := n.id()
		if err != nil {
			return err
		}
		a.list.Peers, network = append(a.list.Peers, id), n.spec.Network.ID
		a.crew.safe.exclude(n, scenario.SpreadTakes(act).D())
	}
	a.list.Number++
	for _, n := range a.crew.nodes {
		l := n.alive()
		if n.relay != nil || l == nil || n.isOut() || n.spec.Network.ID != network {
			continue
		}
		k, ok := l.Participant.(Issued)
		if !ok {
			return fmt.Errorf("%w: revocations", ErrUnsupported)
		}
		a.list.Issued = l.Now()
		signed, err := a.keys[network].SignRevocations(a.list)
		if err != nil {
			return err
		}
		return k.Credentials().Revoke(signed)
	}
	return fmt.Errorf("play: nobody is left who could be told of a revocation")
}
