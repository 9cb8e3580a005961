// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import "sync/atomic"

// dropReason says why a message did not get to a subscriber.
type dropReason uint8

const (
	dropLength    dropReason = iota // QueueLength messages wait
	dropBytes                       // they have QueueBytes
	dropCancelled                   // its publisher did not wait for room any longer
	dropClosed                      // it waited when Close's context ended
	dropLate                        // it came after Close
	dropReasons
)

// String returns the reason as used in the status.
func (d dropReason) String() string {
	return [...]string{"queue_length", "queue_bytes", "publisher_gave_up", "closed", "after_close"}[d]
}

// drops counts. It may be used concurrently.
type drops [dropReasons]atomic.Uint64

func (d *drops) count(r dropReason, n uint64) { d[r].Add(n) }

// counts returns the reasons that have occurred.
func (d *drops) counts() map[string]uint64 {
	out := make(map[string]uint64)
	for r := range dropReasons {
		if n := d[r].Load(); n > 0 {
			out[r.String()] = n
		}
	}
	return out
}
