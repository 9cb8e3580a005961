// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// bans are the peers that this node has nothing to do with: those that its own
// network file lists, and those that anybody who holds a key of the network has
// said. A statement's number is odd for a ban and even where it was lifted. So all
// nodes that read the same file say the same, and only what is new goes on.
type bans struct {
	l *layers

	// Guarded by mu.
	mu      sync.Mutex
	listed  map[peer.ID]bool // in this node's file
	out     map[peer.ID]bool // with whom it has nothing to do
	changed []peer.ID        // to be looked at …
	busy    bool             // … by somebody who does already
}

// maxRaise bounds how far a ban's number may be above the one that holds: else whoever has
// a key could choose the last one there is, and nobody could lift the ban.
const maxRaise = 1 << 16

var (
	errRaise         = errors.New("node: the number of the ban is too far above the one before")
	errAuthorityBans = errors.New("node: where certificates are required the authority excludes nodes")
)

// handle takes what others say. Before the overlay starts.
func (b *bans) handle() {
	b.l.overlay.Statements().Handle(wire.Statement_BAN, overlay.StatementHandler{
		Max: security.MaxBans,
		Check: func(s overlay.Statement) error {
			if err := security.CheckPeerID(peer.ID(s.Subject)); err != nil {
				return err
			}
			switch {
			case b.l.credentials.Issuance().Required:
				return errAuthorityBans
			case s.Number-b.number(peer.ID(s.Subject)) > maxRaise:
				return errRaise
			}
			return b.l.keys.network.CheckVouch(s.Proof, uint32(s.Topic), s.Subject, s.Number, s.Body)
		},
		Heed: func(s overlay.Statement) { b.heed(peer.ID(s.Subject)) },
	})
}

// heed does what this node's file says of p, or the statement that holds: a ban in
// the file stays, whoever lifts it.
func (b *bans) heed(p peer.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed = append(b.changed, p); b.busy {
		return
	}
	b.busy = true
	for len(b.changed) > 0 {
		p := b.changed[0]
		b.changed = b.changed[1:]
		banned := b.listed[p] || b.number(p)%2 == 1
		if banned == b.out[p] {
			continue
		}
		if banned {
			b.out[p] = true
		} else {
			delete(b.out, p)
		}
		b.mu.Unlock() // connections are closed
		b.act(p, banned)
		b.mu.Lock()
	}
	b.busy = false
}

// act has a ban hold, or no longer. One goroutine does at a time; mu is not held.
func (b *bans) act(p peer.ID, banned bool) {
	if p == b.l.overlay.Self() {
		if banned {
			b.l.log().Error("this node is banned: others will have nothing to do with it")
		}
		return
	}
	b.l.keys.network.Ban(p, banned)
	if banned {
		b.l.log().Warn("a peer is banned", zap.Stringer("peer", p))
		b.l.overlay.Exclude(p)
		return
	}
	b.l.log().Info("a ban is lifted", zap.Stringer("peer", p))
	b.l.overlay.Readmit(p)
}

// set has the bans of a file hold here and, by a statement, everywhere; those that it
// has no longer are lifted.
func (b *bans) set(list []peer.ID) {
	var news []peer.ID
	b.mu.Lock()
	gone := b.listed
	b.listed = make(map[peer.ID]bool, len(list))
	for _, p := range list {
		b.listed[p] = true
		if !gone[p] {
			news = append(news, p)
		}
		delete(gone, p)
	}
	b.mu.Unlock()
	if b.l.credentials.Issuance().Required {
		b.drop(func(overlay.Statement) bool { return false })
	}
	for _, p := range news {
		b.state(p, true)
		b.heed(p) // also if others have lifted it, or can't be told
	}
	for _, p := range slices.Sorted(maps.Keys(gone)) {
		b.state(p, false)
		b.heed(p) // also if others had lifted it before
	}
	b.renew() // also what others have said
}

// number is that of the statement about p; 0 = there is none.
func (b *bans) number(p peer.ID) uint64 {
	return b.l.overlay.Statements().Number(wire.Statement_BAN, string(p))
}

// state says to all that p is banned, or no longer, unless that holds already.
func (b *bans) state(p peer.ID, banned bool) {
	number := b.number(p)
	if (number%2 == 1) == banned || b.l.credentials.Issuance().Required {
		return
	}
	s := overlay.Statement{Topic: wire.Statement_BAN, Subject: string(p), Number: number + 1}
	b.prove(&s)
	if err := b.l.overlay.Statements().State(s); err != nil && !errors.Is(err, overlay.ErrStale) {
		b.l.log().Error("other nodes can't be told of a ban, or of its end: bring the file to their machines", zap.Stringer("peer", p), zap.Error(err))
	}
}

// renew proves the bans of this node's file by a key that counts now, and drops those that
// no such key proves any more: what somebody has said who had only a former key ends
// with that key.
func (b *bans) renew() {
	b.l.overlay.Statements().Renew(wire.Statement_BAN, func(s *overlay.Statement) bool {
		b.mu.Lock()
		listed := b.listed[peer.ID(s.Subject)]
		b.mu.Unlock()
		if listed {
			b.prove(s)
		}
		return listed
	})
	b.drop(func(s overlay.Statement) bool {
		return b.l.keys.network.CheckVouch(s.Proof, uint32(s.Topic), s.Subject, s.Number, s.Body) == nil
	})
}

func (b *bans) drop(keep func(overlay.Statement) bool) {
	for _, s := range b.l.overlay.Statements().Drop(wire.Statement_BAN, keep) {
		b.heed(peer.ID(s.Subject))
	}
}

func (b *bans) prove(s *overlay.Statement) {
	s.Proof = b.l.keys.network.Vouch(uint32(s.Topic), s.Subject, s.Number, s.Body)
}
