// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
)

// outside is everything below the overlay: the machine and libp2p, or what
// Config.Seam has in their place.
type outside struct {
	overlay.Seam
	host    *p2p.Host        // nil under Config.Seam
	workers *overlay.Workers // likewise
}

// newOutside opens nothing yet.
func newOutside(cfg Config, network *security.Network, s state) (outside, error) {
	if cfg.Seam != nil {
		return outside{Seam: *cfg.Seam}, nil
	}
	random := overlay.NewRealRand()
	key := cfg.NodeKey
	if key.IsZero() {
		var err error
		if key, err = s.key(random.Stream("node.key")); err != nil {
			return outside{}, err
		}
	}
	host, err := p2p.New(p2p.Config{
		Key: key, Network: network, Listen: cfg.Listen, Advertise: cfg.Advertise, MDNS: !cfg.NoMDNS, Logger: cfg.Logger,
	})
	if err != nil {
		return outside{}, err
	}
	workers := overlay.NewWorkers(cfg.Workers)
	return outside{host: host, workers: workers, Seam: overlay.Seam{
		Transport: host, Router: host.Router(), Clock: overlay.NewRealClock(), Rand: random, Exec: workers,
	}}, nil
}

// discover looks for nodes on the local network.
func (o outside) discover(add func(overlay.Candidate)) error {
	if o.host == nil {
		return nil
	}
	return o.host.StartDiscovery(add)
}

// close waits for what the workers run. The overlay closes the transport.
func (o outside) close() error {
	if o.workers == nil {
		return nil
	}
	return o.workers.Close()
}
