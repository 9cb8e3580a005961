// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"encoding/binary"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// frame is one frame of a link.
type frame struct {
	lane wire.Lane
	kind wire.Kind
	body []byte
}

func (f frame) appendTo(dst []byte) []byte { return wire.AppendFrame(dst, f.lane, f.kind, f.body) }

// control makes a frame of a control message, which is of a legal form.
func control(kind wire.Kind, m proto.Message) frame {
	body, err := wire.AppendControl(nil, m)
	if err != nil {
		panic("BUG: adversary: " + err.Error())
	}
	return frame{wire.LaneCtl, kind, body}
}

// line is one link stream of an adversary: the node's bytes are cut into frames,
// and each passes the tactics.
type line struct {
	overlay.Stream
	a    *Adversary
	peer peer.ID

	turn chan struct{} // has room for one: whoever writes

	// Owned by who writes.
	begun []byte // of a frame of the node's that is not whole yet

	// Owned by the reader.
	frames *wire.FrameReader
	ready  []byte // for the node

	// Guarded by Adversary.mu.
	said, heard *wire.Hello
}

var _ overlay.Stream = (*line)(nil)

func newLine(a *Adversary, s overlay.Stream) *line {
	return &line{Stream: s, a: a, peer: s.Remote(), turn: make(chan struct{}, 1), frames: wire.NewFrameReader(s)}
}

// Read implements overlay.Stream.
func (l *line) Read(b []byte) (int, error) {
	for len(l.ready) == 0 {
		lane, kind, body, err := l.frames.Next()
		if err != nil {
			l.a.hungUp(l)
			return 0, err
		}
		l.ready = l.a.incoming(l, l.ready[:0], frame{lane, kind, body})
		l.frames.Recycle()
	}
	n := copy(b, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

// Write implements overlay.Stream.
func (l *line) Write(b []byte) (int, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.begun = append(l.begun, b...)
	var out []byte
	for len(l.begun) >= wire.FrameOverhead && len(l.begun) >= 4+int(binary.BigEndian.Uint32(l.begun)) {
		lane := wire.Lane(l.begun[4] >> 6)
		kind, body, size := wire.FirstFrame(l.begun)
		out = l.a.outgoing(l, out, frame{lane, kind, body})
		l.begun = l.begun[size:]
	}
	l.begun = append([]byte(nil), l.begun...)
	if len(out) > 0 {
		if _, err := l.Stream.Write(out); err != nil {
			l.a.hungUp(l)
			return 0, err
		}
	}
	return len(b), nil
}

// slip sends frames that the node knows nothing of.
func (l *line) slip(frames []frame) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	var out []byte
	for _, f := range frames {
		out = l.a.invent(l, out, f)
	}
	if len(out) == 0 {
		return
	}
	if _, err := l.Stream.Write(out); err != nil {
		l.a.hungUp(l)
	}
}
