// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"errors"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Seal says when bodies and headers are encrypted end to end under the
// cluster's key.
type Seal uint8

// The ways to seal.
const (
	// SealAuto seals for clusters with explicit keys. Requests to a cluster
	// with a derived key travel on direct links, which are encrypted between
	// two nodes that both hold it.
	SealAuto Seal = iota
	// SealAlways seals everything, and members refuse what is not sealed. All
	// nodes of a network should agree on it.
	SealAlways
)

// Config is what New needs. Everything but Acceptor, Bell, Leaf, May, NameOf, Seal
// and Logger is required.
type Config struct {
	// Links reaches the other nodes, Directory knows who serves what.
	Links     Links
	Directory Directory
	// Keys returns the keys of a cluster; never nil. It must not block.
	Keys func(name string) *security.Cluster

	// Ephemerals are the ephemeral keys of this node, which its members' records carry.
	Ephemerals *security.Ephemerals

	Clock overlay.Clock
	Rand  overlay.Rand
	// Exec runs handlers. It must outlive the Engine: the last handlers end
	// during Close.
	Exec overlay.Exec
	// Bell has a caller that is alone wait for its reply by way of the operating system
	// (package internal/bell), with one file descriptor for the engine, from the ninth call
	// in a row that has met no other. Only where time is real and Exec wakes at once.
	// Default: it waits as others do.
	Bell bool

	// Incarnation is larger at each start of this node.
	Incarnation uint64
	// Acceptor accepts tunnels for the members of this node. Default: none
	// has any.
	Acceptor Acceptor
	// Leaf, if not nil, makes this the engine of a program beside a relay.
	// Directory, Keys, Ephemerals, Rand and Incarnation are not needed then.
	Leaf *Leaf
	// May says whether the node p may call a cluster: it is asked for each request that
	// comes from p. It must not block. Default: whoever has the cluster's key may.
	May func(p peer.ID, cluster string) bool
	// NameOf is what people call a node: any text, to be escaped; "" = not known. It must
	// not block. Default: nobody has a name.
	NameOf func(p peer.ID) string
	// Seal says when to seal. Default: SealAuto.
	Seal Seal
	// Logger is where this package logs; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.Leaf != nil {
		c.Directory = newLeafDirectory(c.Leaf)
	}
	if c.NameOf == nil {
		c.NameOf = func(peer.ID) string { return "" }
	}
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

func (c Config) validate() error {
	if c.Leaf != nil {
		if c.Links == nil || c.Clock == nil || c.Exec == nil || c.Leaf.Relay == "" {
			return errors.New("request: Config of a leaf needs Links, Clock, Exec and the relay's id")
		}
		return nil
	}
	switch {
	case c.Links == nil || c.Directory == nil || c.Keys == nil || c.Ephemerals == nil:
		return errors.New("request: Config needs Links, Directory, Keys and Ephemerals")
	case c.Clock == nil || c.Rand == nil || c.Exec == nil:
		return errors.New("request: Config needs Clock, Rand and Exec")
	case c.Incarnation == 0:
		return errors.New("request: Config.Incarnation is required")
	case c.Seal > SealAlways:
		return errors.New("request: Config.Seal is neither SealAuto nor SealAlways")
	}
	return nil
}
