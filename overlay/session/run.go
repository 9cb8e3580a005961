// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/arke-mesh/arke/internal/wire"

// SendRun is Send of messages that begin alike, each of head and one of the tails, for
// little more than one of them costs. It says how many were queued: all, or those
// before the one that err is about.
func SendRun(s *Session, lane wire.Lane, k wire.Kind, head []byte, tails [][]byte) (n int, err error) {
	for n < len(tails) {
		n += pushRun(s.out, lane, k, head, tails[n:])
		if n == len(tails) {
			break
		}
		if _, err = s.Send(lane, k, head, tails[n]); err != nil { // it is long, or says why not
			return n, err
		}
		n++
	}
	return n, nil
}

// pushRun queues those messages at the beginning for which one lane and one window have
// room.
func pushRun(b *outbox, lane wire.Lane, k wire.Kind, head []byte, tails [][]byte) (n int) {
	var parts [2][]byte
	parts[0] = head
	b.mu.Lock()
	for ; n < len(tails) && !b.over; n++ {
		size := len(head) + len(tails[n])
		if size > b.cfg.MaxMessage || !single(lane, size) {
			break
		}
		_, acc, taken := place(lane, size)
		if !b.log.reserve(acc, taken) {
			break
		}
		parts[1] = tails[n]
		b.log.push(lane, acc, k, taken, parts[:])
	}
	if n == 0 {
		b.mu.Unlock()
		return 0
	}
	b.pushed(lane)
	return n
}
