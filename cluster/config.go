// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// Limits of names and registrations.
const (
	// MaxName is the longest cluster name in bytes.
	MaxName = 255
	// MaxZone is the longest zone name in bytes.
	MaxZone = 64
	// MaxNetwork is the longest name of a network in bytes.
	MaxNetwork = 63
	// MaxNetworks is how many networks a lent member can have come through.
	MaxNetworks = wire.MaxNetworks
	// MaxPriority is the last priority of lent members.
	MaxPriority = 255
	// MaxCapacity bounds a member's weight in balancing.
	MaxCapacity = 1 << 16
	// MaxPayload is the longest payload of a registration in bytes.
	MaxPayload = 8 << 10
)

// Config is what New needs. All but Zone and Logger are required.
type Config struct {
	// Overlay reaches the other nodes; the Key of its Seam signs leases.
	Overlay Network
	// Network is the id of the network: leases are good in no other one.
	Network security.NetworkID
	// Keys returns the keys of a cluster; never nil. It is called from the
	// control loop and must not block.
	Keys func(name string) *security.Cluster
	// Incarnation is larger at each start of this node.
	Incarnation uint64
	// Zone is where this node runs; members of the same zone are preferred.
	// Empty = none: then nobody is preferred.
	Zone string
	// Home is what this network is called. Empty = nothing.
	Home string
	// Walls returns the wall-clock times that count: members register, and callers watch,
	// under the ids that are valid at any of them. At least one; the first is this node's
	// own. It must not block. Call KeysChanged when others count. Default: the clock's own.
	Walls func() []time.Time
	// Doubt says why this node can't tell whether nobody serves a cluster, in a
	// sentence; nil = it can. soon says that it may be able to at any moment. It must not
	// block, and may be called concurrently. Default: always nil.
	Doubt func() (reason error, soon bool)
	// Certificates says who may serve what, by the certificates of nodes. Default:
	// whoever has the cluster's key may, and records carry none.
	Certificates Certificates
	// Ephemeral returns the key of this node that callers of a cluster are to seal with,
	// zeros = none. It must not block. Call Rekeyed when it
	// returns something else. Default: none.
	Ephemeral func(cluster string) security.EphemeralKey
	// Logger is where this package logs; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.Doubt == nil {
		c.Doubt = func() (error, bool) { return nil, false }
	}
	if c.Walls == nil && c.Overlay != nil {
		clock := c.Overlay.Seam().Clock
		c.Walls = func() []time.Time { return []time.Time{clock.Now()} }
	}
	if c.Certificates == nil {
		c.Certificates = noCertificates{}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Overlay == nil:
		return errors.New("cluster: Config.Overlay is required")
	case c.Overlay.Seam().Key.PeerID() != c.Overlay.Self():
		return errors.New("cluster: Config.Overlay needs the node's own key in its Seam")
	case c.Network == security.NetworkID{}:
		return errors.New("cluster: Config.Network is required")
	case c.Keys == nil:
		return errors.New("cluster: Config.Keys is required")
	case c.Incarnation == 0:
		return errors.New("cluster: Config.Incarnation is required")
	case len(c.Zone) > MaxZone:
		return errors.New("cluster: Config.Zone is longer than 64 bytes")
	case len(c.Home) > MaxNetwork:
		return errors.New("cluster: Config.Home is longer than 63 bytes")
	}
	return nil
}
