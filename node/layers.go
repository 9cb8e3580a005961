// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
)

func (n *Node) overlayConfig() overlay.Config {
	return overlay.Config{
		Seam:         n.outside.Seam,
		Seeds:        n.cfg.Seeds,
		RememberFile: n.state.peers(),
		Heartbeat:    n.cfg.Heartbeat,
		MaxMessage:   request.MaxMessage + request.MaxOverhead,
		Agent:        n.cfg.Agent,
		Logger:       n.cfg.Logger,
	}
}

func (n *Node) clusterConfig(keys *keyring) cluster.Config {
	return cluster.Config{
		Overlay:     cluster.FromOverlay(n.overlay),
		Keys:        keys.cluster,
		Zone:        n.cfg.Zone,
		Incarnation: n.incarnation,
		Logger:      n.cfg.Logger,
	}
}

func (n *Node) requestConfig(keys *keyring) request.Config {
	return request.Config{
		Links:       request.FromOverlay(n.overlay),
		Directory:   request.FromClusters(n.clusters),
		Keys:        keys.cluster,
		Clock:       n.outside.Clock,
		Rand:        n.outside.Rand,
		Exec:        n.outside.Exec,
		Incarnation: n.incarnation,
		Acceptor:    n.tunnels,
		Seal:        n.cfg.Seal,
		Logger:      n.cfg.Logger,
	}
}

func (n *Node) tunnelConfig(keys *keyring) tunnel.Config {
	return tunnel.Config{
		Links: request.FromOverlay(n.overlay),
		// The requests are made after the tunnels, whom they hand openings to.
		Ask:         func(ctx context.Context, a request.Ask) (request.Answer, error) { return n.requests.Ask(ctx, a) },
		Keys:        keys.cluster,
		Clock:       n.outside.Clock,
		Rand:        n.outside.Rand,
		Exec:        n.outside.Exec,
		Incarnation: n.incarnation,
		Seal:        n.cfg.Seal,
		BufferBytes: n.cfg.TunnelBytes,
		MaxOpen:     n.cfg.MaxTunnels,
		MaxHandlers: n.cfg.Workers - n.cfg.Workers/4,
		Logger:      n.cfg.Logger,
	}
}

func (n *Node) topicsConfig(keys *keyring) pubsub.Config {
	return pubsub.Config{
		Links:            pubsub.FromOverlay(n.overlay),
		Directory:        pubsub.FromClusters(n.clusters),
		Keys:             keys.cluster,
		Clock:            n.outside.Clock,
		Rand:             n.outside.Rand,
		Exec:             n.outside.Exec,
		Incarnation:      n.incarnation,
		SealAlways:       n.cfg.Seal == request.SealAlways,
		MaxSubscriptions: n.cfg.MaxSubscriptions,
		Logger:           n.cfg.Logger,
	}
}

// incarnate returns a number that is larger than at any earlier start of the
// same node key.
func (n *Node) incarnate() (uint64, error) {
	switch {
	case n.cfg.Incarnation != 0:
		return n.cfg.Incarnation, nil
	case n.cfg.DataDir != "":
		return n.state.incarnation()
	}
	return uint64(n.outside.Clock.Now().UnixMicro()), nil
}
