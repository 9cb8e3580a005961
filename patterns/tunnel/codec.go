// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// codec lays out and reads the frames of one side of a tunnel. Chunks and ends
// of a sealed one are numbered: those of one direction are not laid out, or read,
// by two goroutines at once.
type codec struct {
	id     uint64
	flags  uint8            // of all frames sent: wire.FlagOpener, or none
	stream *security.Stream // nil if not sealed
	far    bool             // its frames come by a gateway, which may say in the clear that it is over
}

// frame is what one frame is made of, kept for reuse so that sending does not
// allocate and an idle tunnel has none.
type frame struct {
	head   [wire.TunnelCreditSize + security.StreamOverhead]byte
	parts  [2][]byte // head and payload
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

// body is a copy of what the frame carries.
func (f *frame) body() []byte { return bytes.Join(f.parts[:], nil) }

// data lays out a chunk. flags: wire.FlagLast, wire.FlagSeveral, or none.
func (c *codec) data(f *frame, body []byte, flags uint8) {
	m := wire.TunnelData{ID: c.id, Flags: c.flags | flags}
	f.parts[0] = m.AppendHead(f.head[:0])
	f.parts[1] = c.seal(f, body, m.Flags)
}

// whole lays out a message as the first of several in its chunk, not sealed.
func (c *codec) whole(f *frame, body []byte) {
	c.data(f, body, wire.FlagLast|wire.FlagSeveral)
	f.parts[0] = wire.AppendTunnelLength(f.parts[0], len(body))
}

// next lays out what is added to that chunk for one more.
func (c *codec) next(f *frame, body []byte) {
	f.parts[0] = wire.AppendTunnelLength(f.head[:0], len(body))
	f.parts[1] = body
}

// flagsOf are those of a chunk that is the last of its message, or not.
func flagsOf(last bool) uint8 {
	if last {
		return wire.FlagLast
	}
	return 0
}

// end lays out the end of this direction. closed: nothing is received any more, and
// chunks of so much credit were read.
func (c *codec) end(f *frame, closed bool, read uint64) {
	m := wire.TunnelEnd{ID: c.id, Flags: c.flags}
	if closed {
		m.Flags |= wire.FlagClosed
		m.Payload = wire.AppendTunnelRead(make([]byte, 0, 8), read)
	}
	if c.stream != nil {
		m.Payload = c.seal(f, m.Payload, m.Flags)
	}
	f.parts[0] = m.AppendTo(f.head[:0])
}

// credit lays out what tells the other side of its credit; flags: wire.FlagReturned, of
// credit that this side gives back, or none.
func (c *codec) credit(f *frame, total uint64, flags uint8) {
	m := wire.TunnelCredit{ID: c.id, Flags: c.flags | flags, Total: total}
	f.parts[0] = m.AppendTo(f.head[:0])
	switch {
	case c.stream == nil:
	case flags != 0:
		f.parts[0] = c.stream.SealReturn(f.parts[0], total, c.flags)
	default:
		f.parts[0] = c.stream.SealCredit(f.parts[0], total, m.Flags)
	}
}

// reset returns the body of a reset. A tunnel has but one.
func (c *codec) reset(m wire.TunnelReset) []byte {
	if m.ID, m.Flags = c.id, c.flags; c.stream != nil {
		m.Flags |= wire.FlagSealedReset
		m.Sealed = c.stream.SealReset(nil, m.AppendWhy(nil), m.Flags)
	}
	return m.AppendTo(nil)
}

// seal returns the body as it travels.
func (c *codec) seal(f *frame, body []byte, flags uint8) []byte {
	if c.stream == nil {
		return body
	}
	if need := len(body) + security.StreamOverhead; cap(f.sealed) < need {
		f.sealed = make([]byte, 0, need)
	}
	f.sealed = c.stream.Seal(f.sealed[:0], body, flags)
	return f.sealed
}

// word is what a frame of the other side says, of its kind.
type word struct {
	kind   wire.Kind
	data   []byte            // a chunk; it aliases the frame
	flags  uint8             // of a chunk: wire.FlagLast, wire.FlagSeveral; of credit: wire.FlagReturned
	total  uint64            // all the credit so far
	closed bool              // it ends, and does not receive any more either
	read   uint64            // then: the credit of all chunks that it has read
	reset  *wire.TunnelReset // why
	clear  bool              // the reset of a sealed tunnel is not sealed
	far    bool              // and it is a gateway's word
}

// read decodes a frame, and opens it if the tunnel is sealed, in place.
func (c *codec) read(k wire.Kind, body []byte) (w word, err error) {
	w.kind = k
	switch k {
	case wire.KindTunnelData:
		var m wire.TunnelData
		if m, err = wire.DecodeTunnelData(body); err == nil {
			w.flags = m.Flags &^ wire.FlagOpener
			w.data, err = c.open(m.Payload, m.Flags)
		}
		if err == nil && m.Flags&wire.FlagSeveral != 0 {
			err = wire.CheckTunnelMessages(w.data)
		}
	case wire.KindTunnelCredit:
		var m wire.TunnelCredit
		m, err = wire.DecodeTunnelCredit(body)
		w.total, w.flags = m.Total, m.Flags&^wire.FlagOpener
		switch {
		case err != nil || c.stream == nil:
		case w.flags != 0:
			err = c.stream.OpenReturn(m.Seal, m.Total, m.Flags&^wire.FlagReturned)
		default:
			err = c.stream.OpenCredit(m.Seal, m.Total, m.Flags)
		}
	case wire.KindTunnelEnd:
		var m wire.TunnelEnd
		if m, err = wire.DecodeTunnelEnd(body); err == nil {
			w.closed = m.Flags&wire.FlagClosed != 0
			w.data, err = c.open(m.Payload, m.Flags)
		}
		if err == nil {
			w.read, err = wire.DecodeTunnelRead(w.data, m.Flags)
		}
	case wire.KindTunnelReset:
		var m wire.TunnelReset
		if m, err = wire.DecodeTunnelReset(body); err == nil {
			w.clear, err = c.openReset(&m)
			w.far = c.far
		}
		w.reset = &m
	}
	return w, err
}

func (c *codec) open(sealed []byte, flags uint8) ([]byte, error) {
	if c.stream == nil {
		return sealed, nil
	}
	return c.stream.Open(sealed, flags)
}

// openReset opens a reset if it is sealed, and says whether it should have been.
func (c *codec) openReset(m *wire.TunnelReset) (clear bool, err error) {
	switch sealed := m.Flags&wire.FlagSealedReset != 0; {
	case c.stream == nil && sealed:
		return false, errNotSealed
	case c.stream == nil:
		return false, nil
	case !sealed:
		return true, nil
	}
	why, err := c.stream.OpenReset(m.Sealed, m.Flags)
	if err != nil {
		return false, err
	}
	return false, m.DecodeWhy(why)
}
