// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// Config says what a node is. Network is required; every other zero value
// means the default named at the field.
type Config struct {
	// Network says which network the node belongs to. Required.
	Network security.NetworkFile

	// Listen are the multiaddrs to listen on, or "host:port". Default: a free
	// TCP port on every interface, IPv4 and IPv6.
	Listen []string
	// Advertise are the multiaddrs that others are told instead of the bound
	// ones; for nodes behind NAT or in containers. Default: the bound ones.
	Advertise []string
	// Seeds are addresses of nodes to find the network through: multiaddrs
	// with or without /p2p, or "host:port". Default: none.
	Seeds []string
	// NoMDNS switches the search for nodes on the local network off.
	NoMDNS bool

	// DataDir keeps the node's key, its incarnation and the peers it knew, so
	// that a restarted node is the same peer and finds the network again. It
	// is created with mode 0700; two nodes can't share one. Default: nothing
	// is kept, and each start is a new peer.
	DataDir string
	// NodeKey is the node's identity. Default: the one in DataDir, which is
	// made at the first start, or without a DataDir a new one.
	NodeKey security.NodeKey
	// Incarnation must be larger at each start of the same NodeKey. Default:
	// counted in DataDir, or without a DataDir the time in microseconds.
	Incarnation uint64

	// Name is what people call this node, in the logs and the status of others. UTF-8
	// of at most 64 bytes. Default: none.
	Name string
	// Zone is where this node runs; members of the caller's zone are
	// preferred. At most 64 bytes. Default: none.
	Zone string
	// ClusterKeys are the explicit keys of some clusters, the newest version
	// last. Clusters that are not in it have keys derived from the network's.
	ClusterKeys map[string][]security.KeyVersion
	// Certificate is what this node shows in an issued network, as an authority signed
	// it. Its name takes the place of Name. Default: none, and where the network file
	// requires one, other nodes refuse this one.
	Certificate []byte
	// Revocations is a list that the authority has signed, which this node tells all
	// others. Default: the newest that it was told, as far as DataDir keeps it.
	Revocations []byte
	// Seal says when requests are sealed end to end. Default: for clusters
	// with explicit keys.
	Seal request.Seal

	// Gateway says that this node is a gateway's: it tells its peers so, and asks no
	// gateway for clusters that nobody serves.
	Gateway bool

	// MaxSubscriptions bounds the subscriptions of this node, of its clients
	// too. Default 100,000.
	MaxSubscriptions int

	// Workers bounds the handlers that run at once, over all members; those
	// of tunnels have three quarters of it at most. Default 32,768.
	Workers int
	// TunnelBytes bounds what the tunnels of this node may have received and
	// not read, together, in bytes; at least 64 KiB. Default 256 MiB.
	TunnelBytes int
	// MaxTunnels bounds the tunnels that are opened from here; how many each
	// member takes is up to its limits. Default 65,536.
	MaxTunnels int
	// Heartbeat is described at overlay.Config. Default 400 ms.
	Heartbeat time.Duration
	// Calls are those by which links are read and written; only for a process in which
	// nobody's code runs. Default: Go's scheduler is told of each.
	Calls *nowait.Calls
	// Agent names program and release in the logs of other nodes. Default
	// "arke".
	Agent string
	// Logger is where this node logs; nil = nowhere.
	Logger *zap.Logger

	// Seam replaces everything outside the node, as package sim does:
	// transport, router, clock, randomness and the running of user code.
	// Listen, Advertise, NoMDNS, NodeKey and Workers have no meaning then,
	// and the Seam's Exec outlives the node. Default: libp2p and the machine.
	Seam *overlay.Seam
}

// defaultWorkers lets one member have as many tunnels as patterns.Limits say by default.
const defaultWorkers = 32768

// tunnelHandlers is how many handlers of tunnels so many workers run at once.
func tunnelHandlers(workers int) int { return workers - workers/4 }

// affords says why no member of a node with so many workers may have these limits.
func affords(workers int, l patterns.Limits) error {
	switch {
	case l.Concurrency > workers:
		return fmt.Errorf("%w: a member with %d handlers needs more than the %d of one node: ask for less", patterns.ErrTooMany, l.Concurrency, workers)
	case l.Tunnels > tunnelHandlers(workers):
		return fmt.Errorf("%w: a member with %d tunnels needs more than the %d of one node: ask for less", patterns.ErrTooMany, l.Tunnels, tunnelHandlers(workers))
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = defaultWorkers
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// SealAlways has Seal be request.SealAlways.
func (c *Config) SealAlways() { c.Seal = request.SealAlways }

// Check says what is wrong with the configuration, as New would, without opening
// the data directory.
func (c Config) Check() error { return c.withDefaults().validate() }

// validate checks what no lower layer checks.
func (c Config) validate() error {
	switch {
	case len(c.Network.Keys) == 0:
		return errors.New("node: Config.Network is required: read a network file, or generate one")
	case c.Workers < 1:
		return fmt.Errorf("node: Config.Workers %d is less than 1", c.Workers)
	case len(c.Zone) > cluster.MaxZone:
		return fmt.Errorf("node: Config.Zone is longer than %d bytes", cluster.MaxZone)
	}
	if c.Seam == nil {
		if err := checkSeeds(c.Seeds); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.ClusterKeys)) { // the same error each time
		err := security.CheckKeys(c.ClusterKeys[name])
		if word, is := strings.CutPrefix(name, topicPrefix); is && err == nil {
			err = pubsub.CheckKeyedWord(word)
		}
		if err != nil {
			return fmt.Errorf("node: Config.ClusterKeys of cluster %q: %w", name, err)
		}
	}
	return nil
}

func checkSeeds(seeds []string) error {
	for _, seed := range seeds {
		if err := p2p.CheckSeed(seed); err != nil {
			return fmt.Errorf("node: Config.Seeds: %w", err)
		}
	}
	return nil
}

var (
	// ErrInUse is returned by New when another node uses the data directory.
	ErrInUse = errors.New("node: the data directory is in use by another node: stop that one, or choose another directory")

	// ErrNotStarted is returned by everything that needs the network before
	// Start has returned.
	ErrNotStarted = errors.New("node: not started")

	errNoHandler    = errors.New("node: Serve needs a handler")
	errNoSubscriber = errors.New("node: Subscribe needs a subscriber")
)
