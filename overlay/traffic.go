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

// Traffic is how much a node has sent and received, in bytes of frames: what
// TLS, the muxer and TCP add is not in it, nor what a node sends to itself.
type Traffic struct {
	Sent     ByLane // since the overlay was made; handshakes and goodbyes count as ctl
	Received uint64 // likewise; frames do not say which lane they came on
	Queued   ByLane // waiting in the lanes of all links now
	Kept     ByLane // sent on all links and not acknowledged yet
}

// Traffic tells how much was sent and received on all links together.
func (o *Overlay) Traffic() Traffic {
	t := Traffic{Sent: o.traffic.sums(), Received: o.traffic.received.Load()}
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, l := range o.links {
		l.addLoad(&t)
	}
	return t
}

func (l *Link) addLoad(t *Traffic) {
	if l.number.Load() == 0 {
		return
	}
	for lane := range Lane(laneCount) {
		queued, kept := l.last.Load().Load(lane)
		t.Queued[lane] += uint64(queued)
		t.Kept[lane] += uint64(kept)
	}
}

// traffic counts bytes. It may be used concurrently.
type traffic struct {
	sent     [laneCount]atomic.Uint64
	received atomic.Uint64
}

func (t *traffic) sums() (b ByLane) {
	for lane := range t.sent {
		b[lane] = t.sent[lane].Load()
	}
	return b
}

// wrote counts what a connection has taken.
func (l *Link) wrote(bytes [laneCount]uint64) {
	for lane, n := range bytes {
		if n > 0 {
			l.traffic.sent[lane].Add(n)
			l.o.traffic.sent[lane].Add(n)
		}
	}
}

// heardBytes counts what a connection has given.
func (l *Link) heardBytes(n int) {
	l.traffic.received.Add(uint64(n))
	l.o.traffic.received.Add(uint64(n))
}
