// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/push"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/survey"
	"github.com/arke-mesh/arke/patterns/tunnel"
	"github.com/arke-mesh/arke/security"
)

// layers is what a node consists of.
type layers struct {
	cfg         Config
	state       state
	outside     outside
	keys        *keyring
	credentials *credentials
	rotation    *rotation
	ephemerals  *ephemerals
	incarnation uint64
	overlay     *overlay.Overlay
	clusters    *cluster.Clusters
	requests    *request.Engine
	surveys     *survey.Engine
	pushes      *push.Engine
	broadcasts  *broadcast.Engine
	topics      *pubsub.Engine
	tunnels     *tunnel.Engine
	notices     *notices
	silence     silence
}

// assemble makes the layers, from the bottom up. The clusters come before the
// requests, so that they hear of a lost link first.
func (l *layers) assemble(network *security.Network) (err error) {
	if l.outside, err = newOutside(l.cfg, network, l.state); err != nil {
		return err
	}
	if l.incarnation, err = l.incarnate(); err != nil {
		return err
	}
	l.keys = newKeyring(network, l.cfg.ClusterKeys)
	if l.credentials, err = newCredentials(l.cfg, network, l.outside, l.state); err != nil {
		return err
	}
	if own, ok := l.credentials.OwnCertificate(); ok {
		l.cfg.Name = own.Name // what others show, whatever the node calls itself
	}
	if l.overlay, err = overlay.New(overlay.Config{
		Seam: l.outside.Seam, Seeds: l.cfg.Seeds, RememberFile: l.state.peers(), Heartbeat: l.cfg.Heartbeat, Held: l.outside.held(),
		MaxMessage: request.MaxMessage + request.MaxOverhead, Agent: l.cfg.Agent, Name: l.cfg.Name, Logger: l.cfg.Logger,
		Admission: l.credentials, Gateway: l.cfg.Gateway, AskWhy: true,
	}); err != nil {
		return err
	}
	l.rotation, l.ephemerals = newRotation(l), newEphemerals(l)
	l.rotation.bans.handle()
	l.credentials.changed = l.rotation.bans.again
	if l.clusters, err = cluster.New(cluster.Config{
		Overlay: cluster.FromOverlay(l.overlay), Keys: l.keys.cluster, Zone: l.cfg.Zone,
		Network: network.ID(), Home: l.cfg.Network.Name, Incarnation: l.incarnation,
		Walls: l.overlay.Walls, Doubt: l.doubt, Logger: l.cfg.Logger,
		Certificates: l.credentials, Ephemeral: l.ephemerals.of,
	}); err != nil {
		return err
	}
	l.overlay.OnWalls(l.clusters.KeysChanged)
	l.credentials.attach(l.overlay, l.clusters)
	if l.tunnels, err = tunnel.New(l.tunnelConfig()); err != nil {
		return err
	}
	if l.requests, err = request.New(l.requestConfig()); err != nil {
		return err
	}
	l.credentials.renewing.requests = l.requests
	if l.topics, err = pubsub.New(l.topicsConfig()); err != nil {
		return err
	}
	l.surveys, l.pushes, l.broadcasts = survey.New(l.requests), push.New(l.requests), broadcast.New(l.requests)
	l.notices = newNotices(l)
	return nil
}

// doubt says why this node can't tell whether nobody serves a cluster, nil = it can, and
// whether it is about to know.
func (l *layers) doubt() (reason error, soon bool) {
	if c := l.overlay.Clocks(); c.Err() != nil {
		return c.Err(), c.State == overlay.ClockSet
	}
	if err := overlay.TurnedAway(l.overlay); err != nil {
		return err, false
	}
	return overlay.Apart(l.overlay)
}

// Credentials are the node's.
func (l *layers) Credentials() Credentials { return Credentials{l.credentials} }

func (l *layers) requestConfig() request.Config {
	return request.Config{
		Links:       request.FromOverlay(l.overlay),
		Directory:   l.directory(),
		Keys:        l.keys.cluster,
		Ephemerals:  l.ephemerals.Ephemerals,
		Clock:       l.outside.Clock,
		Rand:        l.outside.Rand,
		Exec:        l.outside.Exec,
		Bell:        l.outside.workers != nil,
		Incarnation: l.incarnation,
		Acceptor:    l.tunnels,
		May:         l.credentials.mayCall,
		NameOf:      l.overlay.NameOf,
		Seal:        l.cfg.Seal,
		Logger:      l.cfg.Logger,
	}
}

// directory is where callers find members.
func (l *layers) directory() request.Directory {
	d := request.FromClusters(l.clusters)
	if l.cfg.Gateway {
		return d
	}
	return borrower{d, l}
}

func (l *layers) tunnelConfig() tunnel.Config {
	return tunnel.Config{
		Links: request.FromOverlay(l.overlay),
		// The requests are made after the tunnels, whom they hand openings to.
		Ask:         func(ctx context.Context, a request.Ask) (request.Answer, error) { return l.requests.Ask(ctx, a) },
		Keys:        l.keys.cluster,
		Clock:       l.outside.Clock,
		Rand:        l.outside.Rand,
		Exec:        l.outside.Exec,
		Incarnation: l.incarnation,
		Seal:        l.cfg.Seal,
		BufferBytes: l.cfg.TunnelBytes,
		MaxOpen:     l.cfg.MaxTunnels,
		MaxHandlers: tunnelHandlers(l.cfg.Workers),
		Logger:      l.cfg.Logger,
	}
}

func (l *layers) topicsConfig() pubsub.Config {
	return pubsub.Config{
		Links:            pubsub.FromOverlay(l.overlay),
		Directory:        pubsub.FromClusters(l.clusters),
		Keys:             l.keys.cluster,
		Clock:            l.outside.Clock,
		Rand:             l.outside.Rand,
		Exec:             l.outside.Exec,
		Key:              l.outside.Key,
		Network:          l.keys.network.ID(),
		Incarnation:      l.incarnation,
		SealAlways:       l.cfg.Seal == request.SealAlways,
		Rights:           topicRights{l.credentials},
		MaxSubscriptions: l.cfg.MaxSubscriptions,
		Logger:           l.cfg.Logger,
	}
}

// incarnate returns a number that is larger than at any earlier start of the
// same node key.
func (l *layers) incarnate() (uint64, error) {
	switch {
	case l.cfg.Incarnation != 0:
		return l.cfg.Incarnation, nil
	case l.cfg.DataDir != "":
		n, damaged, err := l.state.incarnation(l.outside.Clock.Now())
		if damaged != nil {
			l.log().Warn("the count of starts in the data directory is damaged: continuing from the time of day", zap.Error(damaged))
		}
		return n, err
	}
	return uint64(l.outside.Clock.Now().UnixMicro()), nil
}

// start begins to listen and to look for the network.
func (l *layers) start(ctx context.Context) error {
	if err := l.clusters.Start(); err != nil {
		return err
	}
	l.rotation.start()
	l.ephemerals.start()
	if err := l.overlay.Start(ctx); err != nil {
		return err
	}
	l.notices.start(l.overlay.Addrs())
	l.credentials.start()
	return l.outside.discover(l.overlay.AddCandidate)
}

// drain ends the layers in order.
func (l *layers) drain(ctx context.Context) error {
	return errors.Join(l.topics.Drain(ctx), l.requests.Drain(ctx), l.tunnels.Drain(ctx), l.overlay.Shutdown(ctx))
}

// close ends the layers at once, from the top down.
func (l *layers) close() error {
	l.notices.watch.Stop()
	l.credentials.stop()
	l.rotation.stop()
	l.ephemerals.stop()
	l.tunnels.Stop() // handlers of requests may wait for one, and those of tunnels for a request
	err := errors.Join(
		l.topics.Close(), l.requests.Close(), l.tunnels.Close(), l.clusters.Close(), l.overlay.Close(), l.outside.close(), l.state.close(),
	)
	l.ephemerals.Erase()
	return err
}

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
		Key: key, Network: network, Listen: cfg.Listen, Advertise: cfg.Advertise, MDNS: !cfg.NoMDNS, Calls: cfg.Calls, Logger: cfg.Logger,
	})
	if err != nil {
		return outside{}, err
	}
	workers := overlay.NewWorkers(cfg.Workers)
	return outside{host: host, workers: workers, Seam: overlay.Seam{
		Transport: host, Router: host.Router(), Clock: overlay.NewRealClock(), Rand: random, Exec: workers, Key: key,
	}}, nil
}

// held is what layers share of what peers may have this node hold; nil = nothing.
func (o outside) held() *budget.Budget[peer.ID] {
	if o.host == nil {
		return nil
	}
	return o.host.Held()
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
