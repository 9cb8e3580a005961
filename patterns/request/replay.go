// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/libp2p/go-libp2p/core/peer"

// replayKey names one sealed request for ever.
type replayKey struct {
	sender      peer.ID
	incarnation uint64 // of the sender
	id          uint64
}

// replays remembers the sealed requests that a member has opened, and so
// refuses to run one twice; a pure core. Its memory is bounded, which is no
// gap today: only the sender itself, whom TLS has authenticated, can present
// one of its requests, and a link delivers a frame at most once. The binding
// of the seal does the rest: another member, or this one after a restart,
// can't open it.
type replays struct {
	seen   map[replayKey]struct{}
	oldest []replayKey // a ring once it is full
	at     int
}

// fresh says whether k was not seen of late, and remembers it.
func (r *replays) fresh(k replayKey) bool {
	if _, ok := r.seen[k]; ok {
		return false
	}
	if r.seen == nil {
		r.seen = make(map[replayKey]struct{})
	}
	if len(r.oldest) < replayMemory {
		r.oldest = append(r.oldest, k)
	} else {
		delete(r.seen, r.oldest[r.at])
		r.oldest[r.at] = k
		r.at = (r.at + 1) % replayMemory
	}
	r.seen[k] = struct{}{}
	return true
}
