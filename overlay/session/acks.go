// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
)

// ackState is what the writer has to know about acknowledgements.
type ackState struct {
	told wire.Counts // what the peer was told last
	ride bool        // with the next batch
	due  bool        // now, if need be alone
}

// askAck has an acknowledgement ride with the next batch, or leave now.
func (b *outbox) askAck(now bool) {
	b.mu.Lock()
	b.ack.ride, b.ack.due = true, b.ack.due || now
	kicked := now && b.kicked()
	b.mu.Unlock()
	if kicked {
		b.stir()
	}
}

// ackMissing says whether the peer was not told everything.
func (b *outbox) ackMissing(released func() wire.Counts) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.over && b.ack.told != released()
}

// ackLate asks for an acknowledgement that is missing, more urgently each time,
// and says whether one was.
func (b *outbox) ackLate(released func() wire.Counts) bool {
	if !b.ackMissing(released) {
		return false
	}
	b.mu.Lock()
	urgent := b.ack.ride
	b.mu.Unlock()
	b.askAck(urgent)
	return true
}

// acked takes the peer's acknowledgement, which may make room.
func (b *outbox) acked(counts wire.Counts) error {
	var do after.List
	b.mu.Lock()
	ok := b.log.ack(counts)
	b.grant(&do)
	b.mu.Unlock()
	do.Run()
	if !ok {
		return fmt.Errorf("%w: acknowledged what was not sent", ErrProtocol)
	}
	return nil
}

// resume has the next connection begin with what the peer has not received. It
// returns whether anything waits for the peer.
func (b *outbox) resume(received wire.Counts, a *attachment) (pending bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.aside, b.writer = b.aside[:0], writer{pace: newPace(), held: b.writer.held}
	b.ack = ackState{due: true} // the peer may not know what was acknowledged last
	if b.over {
		return false, ErrDown
	}
	if !b.log.resume(received) {
		return false, fmt.Errorf("%w: it can't have received that", ErrProtocol)
	}
	if a.conn.own != nil && !b.cfg.Forget {
		b.writer.direct = a
	}
	return b.log.pending(), nil
}

// consumed notes that what was taken has arrived, or need not be kept.
func (b *outbox) consumed() {
	var do after.List
	b.mu.Lock()
	b.log.wrote()
	var all wire.Counts
	for lane := range all {
		all[lane] = b.log.lanes[lane].taken
	}
	b.log.ack(all)
	b.grant(&do)
	b.mu.Unlock()
	do.Run()
}
