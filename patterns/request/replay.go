// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/libp2p/go-libp2p/core/peer"

// replayKey names one sealed request for ever.
type replayKey struct {
	sealer
	id uint64
}

// sealer is one life of a node that seals requests: the origin's, where a request has
// one, else the link's peer's.
type sealer struct {
	peer        peer.ID
	incarnation uint64
}

// replays remembers the sealed requests that a member has opened, and so
// refuses to run one twice; a pure core. Its memory is bounded. That is no gap where
// the sealer itself presents a request: TLS has authenticated it, and a link delivers a
// frame at most once. From others nothing is taken that is as old as what was
// forgotten, so that it can't be shown again. The binding of the seal does the rest:
// another member, or this one after a restart, can't open it.
type replays struct {
	seen   map[replayKey]struct{}
	oldest []replayKey // a ring once it is full
	at     int
	// floors has the largest id that was forgotten, of each sealer; of sealers that are
	// not in it when it is full nothing is taken from others.
	floors map[sealer]uint64
}

// fresh says whether k was not seen of late, and remembers it. own says that the
// sealer itself presents it.
func (r *replays) fresh(k replayKey, own bool) bool {
	if _, ok := r.seen[k]; ok {
		return false
	}
	if floor, known := r.floors[k.sealer]; !own && (k.id <= floor || !known && len(r.floors) >= replaySealers) {
		return false
	}
	if r.seen == nil {
		r.seen, r.floors = make(map[replayKey]struct{}), make(map[sealer]uint64)
	}
	if len(r.oldest) < replayMemory {
		r.oldest = append(r.oldest, k)
	} else {
		r.forget(r.oldest[r.at])
		r.oldest[r.at] = k
		r.at = (r.at + 1) % replayMemory
	}
	r.seen[k] = struct{}{}
	return true
}

func (r *replays) forget(k replayKey) {
	delete(r.seen, k)
	if floor, known := r.floors[k.sealer]; known || len(r.floors) < replaySealers {
		r.floors[k.sealer] = max(floor, k.id)
	}
}
