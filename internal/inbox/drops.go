// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

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
