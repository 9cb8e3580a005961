// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// ErrOtherNetwork is returned by SetKeys for the file of another network.
var ErrOtherNetwork = errors.New("node: these are the keys of another network: a node can't change its network, start another one")

// Keys are what SetKeys puts in the place of a node's keys.
type Keys struct {
	// Network is the file of the node's network, as it is now: its keys, its bans, and
	// whether nodes need certificates count.
	Network security.NetworkFile
	// Clusters are the keys of clusters that had keys of their own before; the
	// others keep what they have.
	Clusters map[string][]security.KeyVersion
}

// lookAgain bounds the time until a node looks which keys count: its wall clock may
// have been set.
const lookAgain = time.Minute

// keyed is a Transport whose handshakes show keys that change.
type keyed interface {
	KeysChanged() error
}

// rotation has those keys count that do at each moment, and tells the layers when
// others do. Bans come with the keys: they are in the same file.
type rotation struct {
	l *layers

	mu    sync.Mutex // held while keys change; Heed of statements does without
	timer overlay.Timer
	next  time.Time // that timer is planned for
	over  bool

	bans bans
}

func newRotation(l *layers) *rotation {
	r := &rotation{l: l}
	r.bans = bans{l: l, listed: make(map[peer.ID]bool), out: make(map[peer.ID]bool)}
	return r
}

// start has the keys count that do now, and those later that do then.
func (r *rotation) start() {
	r.bans.recall()
	r.bans.set(r.l.cfg.Network.Bans)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(false)
}

func (r *rotation) stop() {
	r.bans.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// set takes other keys.
func (r *rotation) set(k Keys) error {
	if k.Network.ID != r.l.keys.network.ID() {
		return ErrOtherNetwork
	}
	for name, keys := range k.Clusters {
		if r.l.keys.explicit[name] == nil {
			return fmt.Errorf("node: cluster %q had no keys of its own: they change when the node is started again", name)
		}
		if err := security.CheckKeys(keys); err != nil {
			return fmt.Errorf("node: keys of cluster %q: %w", name, err)
		}
	}
	if err := r.replace(k); err != nil {
		return err
	}
	r.l.credentials.change(k.Network.Issuance) // both close connections: mu is not held
	r.bans.set(k.Network.Bans)
	return nil
}

// replace has other keys count.
func (r *rotation) replace(k Keys) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return ErrNotStarted
	}
	now := r.l.outside.Clock.Now()
	if err := r.l.keys.network.SetKeys(k.Network.Keys, now); err != nil {
		return err
	}
	for name, keys := range k.Clusters {
		if _, err := r.l.keys.explicit[name].SetKeys(keys, now); err != nil {
			return err
		}
		r.l.keys.replaced(name, keys)
	}
	r.turn(true)
	return nil
}

// turn has the keys count that do now, tells the layers if they are others, and
// plans the next time. mu is held.
func (r *rotation) turn(changed bool) {
	now := r.l.outside.Clock.Now()
	next, moved := r.l.keys.advance(now)
	if changed || moved {
		r.tell()
	}
	r.plan(now, next)
}

// lent has keys count that somebody has brought.
func (r *rotation) lent(c *security.Cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.l.outside.Clock.Now()
	next, changed := c.Advance(now)
	if changed {
		r.l.clusters.KeysChanged() // somebody else may use them already
	}
	r.planFor(now, next)
}

// found has other finding keys count that somebody has brought.
func (r *rotation) found(c *security.Cluster, keys []security.KeyVersion) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.l.outside.Clock.Now()
	changed, err := c.SetKeys(keys, now)
	if changed {
		r.l.clusters.KeysChanged()
	}
	r.planFor(now, security.NextValidity(keys, now))
	return err
}

// planFor is plan, if next is before what is planned. mu is held.
func (r *rotation) planFor(now, next time.Time) {
	if !next.IsZero() && (r.timer == nil || next.Before(r.next)) {
		r.plan(now, next)
	}
}

// plan looks again when other keys count, and once in a while until then. mu is held.
func (r *rotation) plan(now, next time.Time) {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if next.IsZero() || r.over {
		return
	}
	r.next = next
	r.timer = r.l.outside.Clock.AfterFunc("node.keys", min(max(next.Sub(now), 0), lookAgain), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.over {
			r.turn(false)
		}
	})
}

// tell has the layers use what counts now.
func (r *rotation) tell() {
	accepted, seals, lapsed := r.l.keys.network.Versions()
	log := r.l.log().With(zap.Uint32s("accepted", accepted), zap.Uint32("seals", seals))
	if lapsed {
		log.Warn("no key of the network is valid now: get its newest file, or set the clock right")
	} else {
		log.Info("these versions of the network's key count now")
	}
	r.l.clusters.KeysChanged()
	r.bans.renew()
	r.l.overlay.Statements().Recheck(wire.Statement_BAN)
	if below, ok := r.l.outside.Transport.(keyed); ok {
		if err := below.KeysChanged(); err != nil {
			log.Error("connections can't show the new keys", zap.Error(err))
		}
	}
	r.l.overlay.Renew()
}

// SetKeys puts others in the place of the node's keys and bans, while it runs. What is
// under way goes on; what other nodes, which hear of the keys later, seal with the old ones is
// taken as long as those are valid. Errors: ErrOtherNetwork, security.ErrBadFile,
// and for a cluster that had no keys of its own.
func (n *raw) SetKeys(k Keys) error { return n.rotation.set(k) }

// advance has the keys count that do at now, and returns when others will.
func (k *keyring) advance(now time.Time) (next time.Time, changed bool) {
	next, changed = k.network.Advance(now)
	look := func(c *security.Cluster) {
		at, moved := c.Advance(now)
		changed = changed || moved
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	for _, c := range k.explicit {
		look(c)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.lent {
		look(l.keys)
	}
	return next, changed
}
