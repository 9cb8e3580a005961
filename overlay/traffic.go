// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"encoding/json"
	"sync/atomic"
)

// ByLane is one number for each lane. In JSON it is an object by their names.
type ByLane [laneCount]uint64

// MarshalJSON implements json.Marshaler.
func (b ByLane) MarshalJSON() ([]byte, error) {
	m := make(map[string]uint64, laneCount)
	for lane, n := range b {
		m[Lane(lane).String()] = n
	}
	return json.Marshal(m)
}

// UnmarshalJSON implements json.Unmarshaler. A lane that is missing has 0; one
// that this version does not know is skipped.
func (b *ByLane) UnmarshalJSON(data []byte) error {
	var m map[string]uint64
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	for lane := range b {
		b[lane] = m[Lane(lane).String()]
	}
	return nil
}

// present lists the lanes with something, by name; nil = none.
func (b ByLane) present() map[string]int {
	var m map[string]int
	for lane, n := range b {
		if n > 0 {
			if m == nil {
				m = make(map[string]int)
			}
			m[Lane(lane).String()] = int(n)
		}
	}
	return m
}

// Traffic is how much a node has sent and received, in frames and bytes of them: what
// TLS, the muxer and TCP add is not in it, nor what a node sends to itself.
type Traffic struct {
	Frames   uint64 // sent, since the overlay was made; acknowledgements, beats and handshakes are some, too
	Sent     ByLane // since the overlay was made; handshakes and goodbyes count as ctl
	Received uint64 // likewise; frames do not say which lane they came on
	Queued   ByLane // waiting in the lanes of all links now
	Kept     ByLane // sent on all links and not acknowledged yet
}

// traffic counts frames and bytes. It may be used concurrently.
type traffic struct {
	frames   atomic.Uint64 // sent; of a node, not of each link
	sent     [laneCount]atomic.Uint64
	received atomic.Uint64
}

// moved is how much there was in both directions.
func (t *traffic) moved() (n uint64) {
	for lane := range t.sent {
		n += t.sent[lane].Load()
	}
	return n + t.received.Load()
}

func (t *traffic) sums() (b ByLane) {
	for lane := range t.sent {
		b[lane] = t.sent[lane].Load()
	}
	return b
}
