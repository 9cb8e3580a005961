// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/sim/history"
)

// Overhear implements play.Witness: it looks for publications, and for requests that
// gateways get and send, in the frames that nodes send to each other.
func (w *World) Overhear(copies func(history.Copy), hops func(history.Hop)) {
	w.n.Tap(func(from, to string) func(time.Duration, []byte) {
		var f frames
		if copies != nil {
			f.publication = func(at time.Duration, body []byte) {
				publicationsOf(body, func(id uint64, bytes int) {
					copies(history.Copy{Publication: id, From: ownerOf(from), To: ownerOf(to), At: at, Bytes: bytes})
				})
			}
		}
		if hops != nil {
			f.request = w.bridges.hops(from, to, hops)
		}
		if f.publication == nil && f.request == nil {
			return nil
		}
		return f.feed
	})
}

// publicationsOf calls each with the ids in the first bytes of what is published, if
// they can be read, and how many bytes of the frame are each one's: what is not a
// message is the first one's.
func publicationsOf(body []byte, each func(id uint64, bytes int)) {
	m, err := wire.DecodePublish(body)
	if err != nil || m.Flags&wire.FlagSealed != 0 {
		return
	}
	head, last := wire.FrameOverhead+len(body)-len(m.Messages), wire.Message{}
	for rest := m.Messages; len(rest) > 0; head = 0 {
		before := len(rest)
		last = rest.Next(last)
		if _, text, err := wire.DecodeHeaders(last.Content); err == nil && len(text) >= 8 {
			each(binary.BigEndian.Uint64(text), head+before-len(rest))
		}
	}
}

// frames cuts what a stream sends, which comes in arbitrary pieces, into
// frames, and hands some kinds of them on. The zero value is at the beginning of a
// stream.
type frames struct {
	// Called with the body of each frame of that kind, which is valid only during the
	// call; nil = they are left out.
	publication, request func(at time.Duration, body []byte)

	head []byte // of the frame that comes, as far as it is there
	body []byte // of one that is handed on, likewise
	left int    // bytes of the body that are to come
	lost bool   // what came is no frame: nothing more can be told
}

// feed takes the next piece.
func (f *frames) feed(at time.Duration, data []byte) {
	for len(data) > 0 && !f.lost {
		if n := wire.FrameOverhead - len(f.head); n > 0 {
			n = min(n, len(data))
			f.head, data = append(f.head, data[:n]...), data[n:]
			if len(f.head) == wire.FrameOverhead {
				f.begin()
				f.end(at)
			}
			continue
		}
		n := min(f.left, len(data))
		if f.taker() != nil {
			f.body = append(f.body, data[:n]...)
		}
		data, f.left = data[n:], f.left-n
		f.end(at)
	}
}

// end hands on a frame that is whole.
func (f *frames) end(at time.Duration) {
	if len(f.head) < wire.FrameOverhead || f.left > 0 || f.lost {
		return
	}
	if hand := f.taker(); hand != nil {
		hand(at, f.body)
	}
	f.head, f.body = f.head[:0], f.body[:0]
}

// begin reads a whole head: the length of kind and body, and the kind.
func (f *frames) begin() {
	n := binary.BigEndian.Uint32(f.head)
	if f.lost = n == 0 || n > wire.MaxFrame; !f.lost {
		f.left = int(n) - 1
	}
}

// taker takes frames of the kind of this one.
func (f *frames) taker() func(at time.Duration, body []byte) {
	if len(f.head) < wire.FrameOverhead {
		return nil
	}
	switch wire.KindOf(f.head[wire.FrameOverhead-1]) {
	case wire.KindPublish:
		return f.publication
	case wire.KindRequest:
		return f.request
	}
	return nil
}
