// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/nodename"
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

	keeping sync.Mutex // held while the file is written

	// Guarded by mu.
	mu      sync.Mutex
	listed  map[peer.ID]bool // in this node's file
	out     map[peer.ID]bool // with whom it has nothing to do
	changed []peer.ID        // to be looked at, each once …
	busy    bool             // … by somebody who does already
	timer   overlay.Timer    // until what is new is kept; nil = nothing is
	over    bool
}

// Else whoever has a key could choose the last number there is, and nobody could lift the ban.
const (
	maxFirst = 1 << 48 // the number of a ban of which nothing is known here: it may have been raised often
	maxRaise = 1 << 16 // how far a ban's number may be above the one that holds
)

// keepAfter is when what is new is kept for the next start.
const keepAfter = time.Second

var (
	errRaise         = errors.New("node: the number of the ban is too far above the one before")
	errAuthorityBans = errors.New("node: where certificates are required the authority excludes nodes")
)

// handle takes what others say. Before the overlay starts.
func (b *bans) handle() {
	b.l.overlay.Statements().Handle(wire.Statement_BAN, overlay.StatementHandler{
		Max: security.MaxBans,
		// A lifted ban is only in the way of an older statement: others need its place more.
		Yields: func(s *overlay.Statement) bool { return s.Number%2 == 0 },
		Check: func(s overlay.Statement) error {
			if err := security.CheckPeerID(peer.ID(s.Subject)); err != nil {
				return err
			}
			highest := uint64(maxFirst)
			if number := b.number(peer.ID(s.Subject)); number > 0 {
				highest = number + maxRaise
			}
			switch {
			case b.l.credentials.Issuance().Required:
				return errAuthorityBans
			case s.Number > highest:
				return errRaise
			}
			return b.l.keys.network.CheckVouch(s.Proof, uint32(s.Topic), s.Subject, s.Number, s.Body)
		},
		Heed: func(s overlay.Statement) {
			b.heed(peer.ID(s.Subject))
			b.keepLater()
		},
	})
}

// heed does what this node's file says of p, or the statement that holds: a ban in
// the file stays, whoever lifts it.
func (b *bans) heed(p peer.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.changed, p) {
		b.changed = append(b.changed, p)
	}
	if b.busy {
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
		b.l.log().Warn("a peer is banned", b.who(p)...)
		b.l.overlay.Exclude(p)
		return
	}
	b.l.log().Info("a ban is lifted", b.who(p)...)
	b.l.overlay.Readmit(p)
}

// who names a peer in the log, by what it calls itself if there was a link.
func (b *bans) who(p peer.ID) []zap.Field {
	id := p.String()
	return []zap.Field{zap.String("peer", nodename.Of(b.l.overlay.NameOf(p), id)), zap.String("id", id)}
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
		if !gone[p] || b.number(p) == 0 {
			news = append(news, p)
		}
		delete(gone, p)
	}
	b.mu.Unlock()
	for _, p := range news {
		b.state(p, true)
		b.heed(p) // also if others have lifted it, or can't be told
	}
	for _, p := range slices.Sorted(maps.Keys(gone)) {
		b.state(p, false)
		b.heed(p) // also if others had lifted it before
	}
	b.renew() // also what others have said
	b.keepLater()
}

// recall has those bans hold that did before the last stop, if a key that counts still
// proves them. Before set.
func (b *bans) recall() {
	kept, err := b.l.state.bans()
	if err != nil {
		b.l.log().Warn("the bans in the data directory can't be read: what others have lifted may come back", zap.Error(err))
	}
	for _, s := range kept.said {
		_ = b.l.overlay.Statements().State(s) // what no key proves any more has ended
	}
	b.mu.Lock()
	b.listed = make(map[peer.ID]bool, len(kept.listed))
	for _, p := range kept.listed {
		b.listed[p] = true
	}
	b.mu.Unlock()
	for _, p := range kept.listed {
		b.heed(p)
	}
}

// keepLater has the data directory hold what counts, soon: others may come.
func (b *bans) keepLater() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.l.state.dir != "" && b.timer == nil && !b.over {
		b.timer = b.l.outside.Clock.AfterFunc("node.bans", keepAfter, b.keep)
	}
}

// keep writes it, unless that was done since.
func (b *bans) keep() {
	b.keeping.Lock()
	defer b.keeping.Unlock()
	b.mu.Lock()
	if b.timer == nil {
		b.mu.Unlock()
		return
	}
	b.timer = nil
	kept := rememberedBans{listed: slices.Sorted(maps.Keys(b.listed))}
	b.mu.Unlock()
	kept.said = b.l.overlay.Statements().Held(wire.Statement_BAN)
	if err := b.l.state.keepBans(&kept); err != nil {
		b.l.log().Warn("bans could not be kept: after a restart this node says again what others have lifted", zap.Error(err))
	}
}

// stop keeps what is not kept yet.
func (b *bans) stop() {
	b.mu.Lock()
	if b.over = true; b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.keep()
}

// again has the bans count as certificates are required now, or no longer: where they are,
// those of others end, and this node's own hold here only.
func (b *bans) again() {
	if b.l.credentials.Issuance().Required {
		b.drop(func(overlay.Statement) bool { return false })
		return
	}
	b.mu.Lock()
	listed := slices.Sorted(maps.Keys(b.listed))
	b.mu.Unlock()
	for _, p := range listed {
		b.state(p, true)
	}
	b.l.overlay.Statements().Recheck(wire.Statement_BAN)
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
