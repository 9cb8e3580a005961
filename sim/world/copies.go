// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/sim/history"
)

// Copies implements play.Witness: it looks for publications in the frames that
// nodes send to each other.
func (w *World) Copies(note func(history.Copy)) {
	w.n.Tap(func(from, to string) func(time.Duration, []byte) {
		var f frames
		return func(at time.Duration, data []byte) {
			f.feed(data, func(body []byte) {
				publicationsOf(body, func(id uint64, bytes int) {
					note(history.Copy{Publication: id, From: ownerOf(from), To: ownerOf(to), At: at, Bytes: bytes})
				})
			})
		}
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
// frames, and keeps the publications among them. The zero value is at the
// beginning of a stream.
type frames struct {
	head []byte // of the frame that comes, as far as it is there
	body []byte // of a publication, likewise
	left int    // bytes of the body that are to come
	lost bool   // what came is no frame: nothing more can be told
}

// feed takes the next piece and calls publication with the body of each
// publication that it completes; the body is only valid during the call.
func (f *frames) feed(data []byte, publication func(body []byte)) {
	for len(data) > 0 && !f.lost {
		if n := wire.FrameOverhead - len(f.head); n > 0 {
			n = min(n, len(data))
			f.head, data = append(f.head, data[:n]...), data[n:]
			if len(f.head) == wire.FrameOverhead {
				f.begin()
				f.end(publication)
			}
			continue
		}
		n := min(f.left, len(data))
		if f.wanted() {
			f.body = append(f.body, data[:n]...)
		}
		data, f.left = data[n:], f.left-n
		f.end(publication)
	}
}

// end hands on a frame that is whole.
func (f *frames) end(publication func(body []byte)) {
	if len(f.head) < wire.FrameOverhead || f.left > 0 || f.lost {
		return
	}
	if f.wanted() {
		publication(f.body)
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

func (f *frames) wanted() bool {
	return len(f.head) == wire.FrameOverhead && wire.KindOf(f.head[wire.FrameOverhead-1]) == wire.KindPublish
}
