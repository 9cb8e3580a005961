// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// dropReason says why a frame, or a tunnel, went no further.
type dropReason uint8

const (
	dropMalformed dropReason = iota // a frame or an opening that can't be decoded
	dropUnknown                     // data, or an end, of a tunnel that is not known
	dropLate                        // data of a tunnel that is over
	dropEarly                       // a frame before the answer, beyond the credit
	dropViolation                   // a tunnel whose other side broke the protocol
	dropForged                      // a frame of a sealed tunnel that the other side has not sealed, or not as the next one
	dropTunnels                     // refused: the member has Limits.Tunnels
	dropBuffer                      // refused: BufferBytes are given away
	dropOpen                        // refused: MaxOpen were opened here
	dropWorkers                     // refused: no worker is free in the whole node, or for tunnels
	dropDuplicate                   // refused: the opener uses the id
	dropSilent                      // the opener never said a word
	dropReasons
)

// String returns the reason as used in the status.
func (d dropReason) String() string {
	return [...]string{
		"malformed", "unknown", "late", "early", "violation", "forged", "tunnels", "buffer_bytes", "open", "workers", "duplicate",
		"silent_opener",
	}[d]
}
