// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Config is what New needs. Everything but SealAlways, MaxSubscriptions and
// Logger is required.
type Config struct {
	// Links reaches the other nodes, Directory knows who listens to what.
	Links     Links
	Directory Directory
	// Keys returns the keys of a cluster; never nil. It must not block.
	Keys func(name string) *security.Cluster

	Clock overlay.Clock
	Rand  overlay.Rand
	// Exec runs subscribers. It must outlive the Engine.
	Exec overlay.Exec

	// Key is the node's own, which signs paths; Network is the id of the network:
	// what is signed is good in no other one.
	Key     security.NodeKey
	Network security.NetworkID
	// Incarnation is larger at each start of this node.
	Incarnation uint64
	// SealAlways has everything sealed, and refuses what is not. Default: what
	// is published in groups with explicit keys.
	SealAlways bool
	// Rights says who may publish and subscribe what. Default: whoever has the keys.
	Rights Rights
	// MaxSubscriptions bounds the subscriptions of this node. Default 100,000.
	MaxSubscriptions int
	// Logger is where this package logs; nil = nowhere.
	Logger *zap.Logger
}

// Rights says who may publish and subscribe what. Methods may be called concurrently,
// and must not block.
type Rights interface {
	// Asks says whether anybody has to be asked at all.
	Asks() bool
	// Subscribes says why this node itself must not subscribe to a pattern, if so.
	Subscribes(pattern string) error
	// MayPublish says whether the node p, to which there is a link, may publish to a
	// topic. It is called for each message of its, and does not keep topic.
	MayPublish(p peer.ID, topic []byte) bool
	// MayPublishBy says the same of a node by its certificate; nil = it shows none. The
	// answer may change when Version does.
	MayPublishBy(p peer.ID, certificate []byte, topic string) bool
	// MaySubscribe says whether the node p may, whose lease carries that certificate.
	MaySubscribe(p peer.ID, certificate []byte, pattern string) bool
	// Certificate is what this node shows; nil = none. It may change when Version does.
	Certificate() []byte
	Version() uint64
}

// allRights are everybody's who has the keys.
type allRights struct{}

func (allRights) Asks() bool                                { return false }
func (allRights) Subscribes(string) error                   { return nil }
func (allRights) MayPublish(peer.ID, []byte) bool           { return true }
func (allRights) MayPublishBy(peer.ID, []byte, string) bool { return true }
func (allRights) MaySubscribe(peer.ID, []byte, string) bool { return true }
func (allRights) Certificate() []byte                       { return nil }
func (allRights) Version() uint64                           { return 0 }

// WithDefaults returns c with its defaults in place of zeros.
func (c Config) WithDefaults() Config {
	if c.Rights == nil {
		c.Rights = allRights{}
	}
	c.MaxSubscriptions = cmp.Or(c.MaxSubscriptions, 100_000)
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

// Validate says what is missing, or can't be.
func (c Config) Validate() error {
	switch {
	case c.Links == nil || c.Directory == nil || c.Keys == nil:
		return errors.New("pubsub: Config needs Links, Directory and Keys")
	case c.Clock == nil || c.Rand == nil || c.Exec == nil:
		return errors.New("pubsub: Config needs Clock, Rand and Exec")
	case c.Key.IsZero() || c.Network == security.NetworkID{}:
		return errors.New("pubsub: Config needs Key and Network")
	case c.Incarnation == 0:
		return errors.New("pubsub: Config.Incarnation is required")
	case c.MaxSubscriptions < 0:
		return fmt.Errorf("pubsub: Config.MaxSubscriptions %d is negative", c.MaxSubscriptions)
	}
	return nil
}
