// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// FlagRoot marks, in Publish.Flags and Path.Flags, the root group: messages
// for patterns that begin with a wildcard. FlagSealed is Publish's, too.
const FlagRoot uint8 = 1 << 2

// MaxNumber bounds the counts of publications: none gets there, and sums of a
// few do not overflow. What says more is malformed.
const MaxNumber = 1 << 62

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
	// Session is a random number of the source's; Run tells apart what is
	// numbered anew for one receiver.
	Session uint64
	Run     uint16
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

	Flags uint8 // FlagSealed, FlagRoot
	// Source is the peer id of the node whose session it is; "" = the sender
	// of the frame. Publisher is the peer id of the node that published; "" =
	// the source.
	Source, Publisher string
	// Life and Serial are in the root group only, whose messages come through
	// one forwarder or another: the incarnation of the publisher's node, and
	// what it counts of its messages to the root group, from 1.
	Life, Serial uint64
	Topic        string
	// Picks say which node has the message for a queue.
	Picks   []Pick
	Headers []Header
	Body    []byte

	// Tail is everything from Flags on, as it came. Only decoders fill it.
	Tail []byte
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

// AppendHead appends what is different for each receiver.
func (m *Publish) AppendHead(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = binary.BigEndian.AppendUint16(dst, m.Run)
	dst = binary.BigEndian.AppendUint32(dst, m.Epoch)
	dst = binary.BigEndian.AppendUint64(dst, m.Number)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Skips)))
	for _, s := range m.Skips {
		dst = binary.BigEndian.AppendUint16(dst, s.Index)
		dst = binary.BigEndian.AppendUint32(dst, s.Add)
	}
	return dst
}

// AppendTail appends the rest but Body. Headers must pass CheckHeaders.
func (m *Publish) AppendTail(dst []byte) []byte {
	dst = append(dst, m.Flags)
	dst = appendShort(dst, m.Source)
	dst = appendShort(dst, m.Publisher)
	if m.Flags&FlagRoot != 0 {
		dst = binary.BigEndian.AppendUint64(dst, m.Life)
		dst = binary.BigEndian.AppendUint64(dst, m.Serial)
	}
	dst = appendShort(dst, m.Topic)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Picks)))
	for _, p := range m.Picks {
		dst = binary.BigEndian.AppendUint64(dst, p.Queue)
		dst = binary.BigEndian.AppendUint64(dst, p.Node)
	}
	return AppendHeaders(dst, m.Headers)
}

// AppendTo appends the encoded message.
func (m *Publish) AppendTo(dst []byte) []byte {
	return append(m.AppendTail(m.AppendHead(dst)), m.Body...)
}

// DecodePublish decodes the body of a KindPublish frame. Body and Tail alias b,
// the rest does not. Whether the topic is one is not judged.
func DecodePublish(b []byte) (Publish, error) {
	r := reader{b: b}
	m := Publish{Session: r.uint64(), Run: r.uint16(), Epoch: r.uint32(), Number: r.number()}
	m.Skips = r.skips()
	m.Tail = r.b
	m.Flags = r.uint8()
	m.Source, m.Publisher = r.short(), r.short()
	if m.Flags&FlagRoot != 0 {
		m.Life, m.Serial = r.uint64(), r.uint64()
	}
	m.Topic = r.short()
	m.Picks = r.picks()
	switch {
	case r.bad:
		return Publish{}, malformed("publish: short")
	case m.Flags&^(FlagSealed|FlagRoot) != 0:
		return Publish{}, malformed("publish: unknown flag")
	case len(m.Source) > MaxPeerID || len(m.Publisher) > MaxPeerID:
		return Publish{}, malformed("publish: peer")
	}
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
