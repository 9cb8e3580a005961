// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// frame is what one frame is made of, kept for reuse so that sending does not
// allocate and an idle tunnel has none.
type frame struct {
	head   [wire.TunnelCreditSize + security.StreamOverhead]byte
	parts  [2][]byte
	sealed []byte
}

// frames keeps frames for reuse.
type frames struct{ p sync.Pool }

func (p *frames) get() *frame {
	if f, ok := p.p.Get().(*frame); ok {
		return f
	}
	return &frame{}
}

func (p *frames) put(f *frame) {
	f.parts = [2][]byte{}
	p.p.Put(f)
}

// frame lays out a chunk. The senders' turn is taken: chunks of a sealed tunnel
// are numbered.
func (t *Tunnel) frame(body []byte, last bool) *frame {
	f := t.engine.frames.get()
	m := wire.TunnelData{ID: t.id, Flags: t.flags}
	if last {
		m.Flags |= wire.FlagLast
	}
	f.parts[0] = m.AppendHead(f.head[:0])
	f.parts[1] = t.seal(f, body, m.Flags)
	return f
}

// endFrame lays out the end of this direction.
func (t *Tunnel) endFrame(closed bool) *frame {
	f := t.engine.frames.get()
	m := wire.TunnelEnd{ID: t.id, Flags: t.flags}
	if closed {
		m.Flags |= wire.FlagClosed
	}
	f.parts[0] = m.AppendTo(f.head[:0])
	f.parts[1] = t.seal(f, nil, m.Flags)
	return f
}

// creditFrame appends what tells the other side of its credit.
func (t *Tunnel) creditFrame(dst []byte, total uint64) []byte {
	m := wire.TunnelCredit{ID: t.id, Flags: t.flags, Total: total}
	dst = m.AppendTo(dst)
	if t.stream != nil {
		dst = t.stream.SealCredit(dst, total, m.Flags)
	}
	return dst
}

// sealReset returns the reset as it travels. A tunnel has but one.
func (t *Tunnel) sealReset(m wire.TunnelReset) wire.TunnelReset {
	if t.stream == nil {
		return m
	}
	m.Flags |= wire.FlagSealedReset
	m.Sealed = t.stream.SealReset(nil, m.AppendWhy(nil), m.Flags)
	return m
}

// seal returns the body as it travels.
func (t *Tunnel) seal(f *frame, body []byte, flags uint8) []byte {
	if t.stream == nil {
		return body
	}
	if need := len(body) + security.StreamOverhead; cap(f.sealed) < need {
		f.sealed = make([]byte, 0, need)
	}
	f.sealed = t.stream.Seal(f.sealed[:0], body, flags)
	return f.sealed
}

// parcel is a frame that waits for room in a lane.
type parcel struct {
	kind wire.Kind
	body []byte
}

// parcel returns a copy of the frame.
func (f *frame) parcel(k wire.Kind) parcel {
	body := make([]byte, 0, len(f.parts[0])+len(f.parts[1]))
	return parcel{k, append(append(body, f.parts[0]...), f.parts[1]...)}
}
