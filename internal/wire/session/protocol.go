// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire/header"
)

// Magic begins every Hello, so that a stray connection is told from a client.
const Magic = "arke-app"

// The versions of the protocol that this package speaks.
const (
	MinVersion uint16 = 1
	MaxVersion uint16 = 1
)

// Limits of the encoding, in bytes. They hold whatever is negotiated.
const (
	// MaxMessage bounds the body and the encoded headers of one message.
	MaxMessage = 16 << 20
	// MaxFrame bounds kind and body of one frame: a message of MaxMessage
	// bytes and all that goes with it fit.
	MaxFrame = MaxMessage + 160<<10
	// MaxHandshake bounds kind and body of every frame before Welcome.
	MaxHandshake = 4 << 10
	// MaxHeaders bounds the encoded headers of one message.
	MaxHeaders = header.MaxBytes
	// MaxCluster is the longest name of a cluster.
	MaxCluster = 255
	// MaxTopic is the longest topic or pattern.
	MaxTopic = 255
	// MaxToken is the longest token.
	MaxToken = 1024
	// MaxName is the longest name a client or relay calls itself, and the
	// longest peer id, member id, zone, and state.
	MaxName = 255
	// MaxText is the longest text beside a reason or a failure, except for
	// that of a Reply or an Answer, which may be as long as a body.
	MaxText = 1024
	// MaxSticky is the longest sticky key.
	MaxSticky = 1<<16 - 1
)

// ID names one session. It is random, known to its two sides only, and zero
// where there is none.
type ID [16]byte

// IsZero says that id names no session.
func (id ID) IsZero() bool { return id == ID{} }

// PickVersion returns the highest version that both ranges contain; false if
// there is none.
func PickVersion(minA, maxA, minB, maxB uint16) (uint16, bool) {
	v := min(maxA, maxB)
	return v, v >= max(minA, minB) && minA <= maxA && minB <= maxB
}

// Micros is d as it travels: in microseconds, at least 1, because 0 has a
// meaning of its own.
func Micros(d time.Duration) uint64 { return uint64(max(d.Microseconds(), 1)) }

// Duration is the reverse of Micros; what is too long to be told apart from
// for ever is shortened to a hundred years.
func Duration(micros uint64) time.Duration {
	const longest = 100 * 365 * 24 * time.Hour
	return time.Duration(min(micros, uint64(longest/time.Microsecond))) * time.Microsecond
}
