// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/scenario"
)

// files are what the key files of a node say.
type files struct {
	network  []security.KeyVersion            // nil = as at the beginning
	clusters map[string][]security.KeyVersion // likewise; those that have changed
	bans     []peer.ID
}

// safe has the newest keys of each kind and the bans, from which nodes get theirs.
type safe struct {
	crew *crew
	mu   sync.Mutex
	keys map[lock][]security.KeyVersion // guarded by mu; those that were rotated
	bans []peer.ID                      // guarded by mu
}

// lock is what keys are for.
type lock struct{ cluster, label string } // cluster: "" = the network

// specified is how to start the node with what its files say now.
func (n *crewNode) specified() NodeSpec {
	n.mu.Lock()
	defer n.mu.Unlock()
	spec := n.spec
	spec.Network.Bans = n.read.bans
	if n.read.network != nil {
		spec.Network.Keys = n.read.network
	}
	if len(n.read.clusters) > 0 {
		spec.ClusterKeys = maps.Clone(spec.ClusterKeys)
		maps.Copy(spec.ClusterKeys, n.read.clusters)
	}
	return spec
}

// lock is what opens a cluster, or the network, for the node; ok is false if it has no
// key of its own for the cluster.
func (n *crewNode) lock(cluster string) (l lock, ok bool) {
	if cluster == "" {
		return lock{"", n.key}, true
	}
	label, ok := n.keys[cluster]
	return lock{cluster, label}, ok
}

// rotate makes new keys, and has nodes read the file with them one after the other;
// when the overlap is over, the one without the old keys.
func (s *safe) rotate(a scenario.Action) error {
	if err := s.change(a, func(l lock, keys []security.KeyVersion, now time.Time) ([]security.KeyVersion, error) {
		next := keys[len(keys)-1].Version + 1
		return security.RotateKeys(keys, now, a.For.D(), Random(s.crew.p.scenario.Seed, "rotation", fmt.Sprint(l.cluster, "/", l.label, "/", next)))
	}); err != nil {
		return err
	}
	begun := s.crew.p.level.Now()
	s.hurry(a, begun)
	if a.For == 0 {
		s.leaveOut(a)
		return nil
	}
	s.crew.p.at(begun+a.For.D(), "end of keys "+a.On, func() {
		err := s.change(a, func(_ lock, keys []security.KeyVersion, now time.Time) ([]security.KeyVersion, error) {
			return slices.DeleteFunc(slices.Clone(keys), func(k security.KeyVersion) bool {
				return !k.NotAfter.IsZero() && !now.Before(k.NotAfter)
			}), nil
		})
		if err != nil {
			s.crew.p.fail(err)
			return
		}
		s.hurry(a, s.crew.p.level.Now())
		s.leaveOut(a)
	})
	return nil
}

// change makes other keys of those that the nodes of a rotation hold.
func (s *safe) change(a scenario.Action, edit func(lock, []security.KeyVersion, time.Time) ([]security.KeyVersion, error)) error {
	var now time.Time
	for _, n := range s.crew.nodes {
		if l := n.alive(); l != nil {
			now = l.Now()
			break
		}
	}
	if now.IsZero() {
		return errors.New("play: nobody is there who has a clock")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(map[lock]bool)
	for _, name := range a.Nodes {
		n := s.crew.by[name]
		l, ok := n.lock(a.On)
		if !ok || done[l] {
			continue
		}
		done[l] = true
		keys := s.keys[l]
		switch {
		case keys != nil:
		case a.On == "":
			keys = n.spec.Network.Keys
		default:
			keys = n.spec.ClusterKeys[a.On]
		}
		keys, err := edit(l, keys, now)
		if err != nil {
			return err
		}
		s.keys[l] = keys
	}
	return nil
}

// hurry has the nodes of a rotation read the newest file one after the other.
func (s *safe) hurry(a scenario.Action, from time.Duration) {
	for i, name := range a.Nodes {
		n := s.crew.by[name]
		l, ok := n.lock(a.On)
		if !ok {
			continue
		}
		s.crew.p.at(from+time.Duration(i)*a.Every.D(), "keys of "+name, func() {
			if err := s.bring(n, l); err != nil {
				s.crew.p.fail(fmt.Errorf("keys of %s: %w", name, err))
			}
		})
	}
}

// bring has a node read its newest file: now if it runs, else when it starts.
func (s *safe) bring(n *crewNode, l lock) error {
	s.mu.Lock()
	keys, bans := s.keys[l], s.bans
	s.mu.Unlock()
	n.mu.Lock()
	if l.cluster == "" {
		n.read.network, n.read.bans = keys, bans
	} else {
		n.read.clusters = maps.Clone(n.read.clusters)
		if n.read.clusters == nil {
			n.read.clusters = make(map[string][]security.KeyVersion)
		}
		n.read.clusters[l.cluster] = keys
	}
	alive := n.life
	n.mu.Unlock()
	if alive == nil {
		return nil
	}
	k, ok := alive.Participant.(Keyed)
	if !ok {
		return fmt.Errorf("%w: other keys", ErrUnsupported)
	}
	spec := n.specified()
	set := node.Keys{Network: spec.Network}
	if l.cluster != "" {
		set.Clusters = map[string][]security.KeyVersion{l.cluster: keys}
	}
	if err := k.SetKeys(set); err != nil && !errors.Is(err, node.ErrNotStarted) {
		return err // one that stops has no use for keys
	}
	return nil
}
