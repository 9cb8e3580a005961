// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Flags of Publish, beside FlagSealed and FlagOrigin. FlagRoot, which is Path's
// too, marks the root group: messages for patterns that begin with a wildcard.
const (
	FlagRoot   uint8 = 1 << 3
	FlagSigned uint8 = 1 << 4
)

// MaxNumber bounds the counts of publications: none gets there, and sums of a
// few do not overflow. What says more is malformed.
const MaxNumber = 1 << 62

// MaxSignature bounds the signature of a publication, in bytes.
const MaxSignature = 64

const (
	skipSize = 2 + 4
	pickSize = 8 + 8
)

// Publish carries one message of a topic to one node, and through it to those
// behind it in a tree. Sent by the publisher's node, or by a forwarder.
//
// The head is different for each receiver; the tail is the same for all, and
// passed on as it came.
type Publish struct {
	// Session is a random number of the source's. Run tells apart what is
	// numbered anew for one receiver: see MakeRun.
	Session uint64
	Run     uint32
	// Epoch names the path (see Path); 0 = the receiver passes it on to
	// nobody.
	Epoch uint32
	// Number counts from 1 what the source addressed to the receiver in this
	// session and run, to MaxNumber; 0 = the message is not for the receiver
	// itself.
	Number uint64
	// Skips are counts that nodes behind the receiver have been sent on
	// another way.
	Skips []Skip

	Flags uint8 // FlagSealed, FlagOrigin, FlagRoot, FlagSigned
	// Batch is how many messages the body holds. Only 1 has a meaning yet.
	Batch uint8
	// Source is the peer id of the node whose session it is; "" = that of the
	// origin, or, if there is none, the sender of the frame.
	Source string
	// Origin is the publisher's node, with FlagOrigin; without it that is the
	// source. In the root group, where it is always there, Serial counts from 1
	// what the node publishes.
	Origin    Origin
	Topic     string
	Picks     []Pick // which node has the message for a queue
	Signature []byte // with FlagSigned; not filled yet
	Headers   []Header
	Body      []byte

	// Tail is everything from Flags on, as it came, and Content what is in it
	// from the headers on. Only decoders fill them.
	Tail, Content []byte
}

// Skip says that the node of that index in the Path has been sent so many
// messages more than the path's counts say.
//
// SkipLeft instead says that the node is reached on another way from now on.
type Skip struct {
	Index uint16
	Add   uint32
}

// SkipLeft is the Add of a stop that the path no longer leads to.
const SkipLeft = 1<<32 - 1

// Pick says that the message is, of all nodes with that queue, for that one.
type Pick struct {
	Queue uint64 // hash of pattern and queue
	Node  uint64 // hash of the peer id
}

// MakeRun returns the run of that count for a receiver of that incarnation. The
// incarnation's low 16 bits are the run's high ones: so a node that was started
// anew takes nothing that was for it before.
func MakeRun(incarnation uint64, count uint16) uint32 {
	return uint32(incarnation)<<16 | uint32(count)
}

// AppendHead appends what is different for each receiver.
func (m *Publish) AppendHead(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = binary.BigEndian.AppendUint32(dst, m.Run)
	dst = binary.BigEndian.AppendUint32(dst, m.Epoch)
	dst = binary.BigEndian.AppendUint64(dst, m.Number)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Skips)))
	for _, s := range m.Skips {
		dst = binary.BigEndian.AppendUint16(dst, s.Index)
		dst = binary.BigEndian.AppendUint32(dst, s.Add)
	}
	return dst
}

// AppendTail appends the rest but headers and body.
func (m *Publish) AppendTail(dst []byte) []byte {
	dst = append(dst, m.Flags, m.Batch)
	dst = appendShort(dst, m.Source)
	if m.Flags&FlagOrigin != 0 {
		dst = m.Origin.appendTo(dst)
	}
	dst = appendShort(dst, m.Topic)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Picks)))
	for _, p := range m.Picks {
		dst = binary.BigEndian.AppendUint64(dst, p.Queue)
		dst = binary.BigEndian.AppendUint64(dst, p.Node)
	}
	if m.Flags&FlagSigned != 0 {
		dst = appendShort(dst, string(m.Signature))
	}
	return dst
}

// AppendTo appends the encoded message. Headers must pass CheckHeaders.
func (m *Publish) AppendTo(dst []byte) []byte {
	return append(AppendHeaders(m.AppendTail(m.AppendHead(dst)), m.Headers), m.Body...)
}

// DecodePublish decodes the body of a KindPublish frame. Signature, Body, Tail
// and Content alias b, the rest does not. Whether the topic is one is not
// judged.
func DecodePublish(b []byte) (Publish, error) {
	r := reader{b: b}
	m := Publish{Session: r.uint64(), Run: r.uint32(), Epoch: r.uint32(), Number: r.number()}
	m.Skips = r.skips()
	m.Tail = r.b
	m.Flags, m.Batch = r.uint8(), r.uint8()
	m.Source = r.short()
	if m.Flags&FlagOrigin != 0 {
		m.Origin = *r.origin()
	}
	m.Topic = r.short()
	m.Picks = r.picks()
	if m.Flags&FlagSigned != 0 {
		m.Signature = r.bytes(int(r.uint8()))
	}
	switch {
	case r.bad:
		return Publish{}, malformed("publish: short")
	case m.Flags&^(FlagSealed|FlagOrigin|FlagRoot|FlagSigned) != 0:
		return Publish{}, malformed("publish: unknown flag")
	case m.Flags&FlagRoot != 0 && m.Flags&FlagOrigin == 0:
		return Publish{}, malformed("publish: no origin")
	case m.Batch == 0:
		return Publish{}, malformed("publish: batch")
	case len(m.Source) > MaxPeerID || len(m.Signature) > MaxSignature:
		return Publish{}, malformed("publish: peer")
	}
	m.Content = r.b
	var err error
	if m.Headers, m.Body, err = DecodeHeaders(r.b); err != nil {
		return Publish{}, err
	}
	return m, nil
}

func (r *reader) number() uint64 {
	n := r.uint64()
	r.bad = r.bad || n > MaxNumber
	return n
}

func (r *reader) skips() []Skip {
	n := int(r.uint16())
	if n == 0 || n*skipSize > len(r.b) {
		r.bad = r.bad || n > 0
		return nil
	}
	out := make([]Skip, n)
	for i := range out {
		out[i] = Skip{Index: r.uint16(), Add: r.uint32()}
	}
	return out
}

func (r *reader) picks() []Pick {
	n := int(r.uint16())
	if n == 0 || n*pickSize > len(r.b) {
		r.bad = r.bad || n > 0
		return nil
	}
	out := make([]Pick, n)
	for i := range out {
		out[i] = Pick{Queue: r.uint64(), Node: r.uint64()}
	}
	return out
}
