// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Flags of Publish, beside FlagSealed and FlagOrigin. FlagRoot, which is Path's
// too, marks the root group: messages for patterns that begin with a wildcard. With
// FlagSigned each message carries its publisher's signature: see Authorship. With
// FlagLent each is one that a gateway brings from another network: see Crossed.
const (
	FlagRoot   uint8 = 1 << 3
	FlagSigned uint8 = 1 << 4
	FlagLent   uint8 = 1 << 5
)

// MaxNumber bounds the counts of publications: none gets there, and sums of a
// few do not overflow. What says more is malformed.
const MaxNumber = 1 << 62

const skipSize = 2 + 4

// Publish carries one message of a group to one node, and through it to those
// behind it in a tree, or several that follow each other: what comes while the
// connection is busy shares a frame. Sent by the publisher's node, or by a
// forwarder.
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
	// session and run, to MaxNumber: it is that of the first message, and the
	// others have those that follow. 0 = none is for the receiver itself.
	Number uint64
	// Skips are counts that nodes behind the receiver have been sent on
	// another way.
	Skips []Skip

	Flags uint8 // FlagSealed, FlagOrigin, FlagRoot, FlagSigned, FlagLent
	// Source is the peer id of the node whose session it is; "" = that of the
	// origin, or, if there is none, the sender of the frame.
	Source string
	// Origin is the publisher's node, with FlagOrigin; without it that is the
	// source. Its Serial is the first message's, and the others have those that
	// follow. In the root group, where it is always there, it counts from 1 what
	// the node publishes.
	Origin Origin
	// Forwarder is, in the root group, what the publisher says of the forwarder
	// that it has there.
	Forwarder RootForwarder
	// Messages are the messages, encoded: at least one. More than one have at most
	// MaxPayload bytes together.
	Messages Messages

	// Tail is everything from Flags on, as it came, Count how many messages there
	// are, and Named how many of them name their topic. Only decoders fill them.
	Tail         []byte
	Count, Named int
}

// RootForwarder says that a publisher has the messages that it publishes from now
// on passed on to the root group by the node to which it sends this. Package
// security has what is signed.
type RootForwarder struct {
	Signature     []byte // nil = it is not said; all is zero then
	Serial, Floor uint64 // as in PathProof
	Rank          uint64 // the Serial of the origin in the last message before
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
	// Serial counts, in the queue of gateways, what the source has given to it in this
	// session, from 1; 0 = it is another queue.
	Serial uint64
}

// MakeRun returns the run of that count for a receiver in that life, whose tag is in
// the run's high 16 bits: a node that was started anew, or has stopped listening and
// begun again, accepts nothing that was addressed to it before.
func MakeRun(incarnation uint64, life, count uint16) uint32 {
	return uint32(LifeTag(incarnation, life))<<16 | uint32(count)
}

// LifeTag is how runs name a life. The lives of one incarnation have different tags, and
// those of the next incarnation differ from the first thousands of them.
func LifeTag(incarnation uint64, life uint16) uint16 { return uint16(incarnation) + life*0x4e35 }

// RunTag returns the tag of the life that a run is for.
func RunTag(run uint32) uint16 { return uint16(run >> 16) }

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

// AppendTail appends the rest but the messages.
func (m *Publish) AppendTail(dst []byte) []byte {
	dst = append(dst, m.Flags)
	dst = appendShort(dst, m.Source)
	if m.Flags&FlagOrigin != 0 {
		dst = m.Origin.appendTo(dst)
	}
	if m.Flags&FlagRoot != 0 {
		dst = m.Forwarder.appendTo(dst)
	}
	return dst
}

func (f *RootForwarder) appendTo(dst []byte) []byte {
	dst = append(append(dst, byte(len(f.Signature))), f.Signature...)
	if len(f.Signature) == 0 {
		return dst
	}
	dst = binary.BigEndian.AppendUint64(dst, f.Serial)
	dst = binary.BigEndian.AppendUint64(dst, f.Floor)
	return binary.BigEndian.AppendUint64(dst, f.Rank)
}

func readRootForwarder(r *reader) (f RootForwarder) {
	n := int(r.uint8())
	if n == 0 {
		return f
	}
	r.bad = r.bad || n != ProofSize
	f.Signature = r.bytes(n)
	f.Serial, f.Floor, f.Rank = r.uint64(), r.uint64(), r.uint64()
	return f
}

// AppendTo appends the encoded message.
func (m *Publish) AppendTo(dst []byte) []byte {
	return append(m.AppendTail(m.AppendHead(dst)), m.Messages...)
}

// DecodePublish decodes the body of a KindPublish frame. Signatures, Messages and
// Tail alias b, the rest does not. The messages are whole and of a legal form;
// whether their topics are some is not judged.
func DecodePublish(b []byte) (Publish, error) {
	r := reader{b: b}
	m := Publish{Session: r.uint64(), Run: r.uint32(), Epoch: r.uint32(), Number: r.number()}
	m.Skips = readSkips(&r)
	m.Tail = r.b
	m.Flags = r.uint8()
	m.Source = r.short()
	if m.Flags&FlagOrigin != 0 {
		m.Origin = *readOrigin(&r)
	}
	if m.Flags&FlagRoot != 0 {
		m.Forwarder = readRootForwarder(&r)
	}
	switch {
	case r.bad:
		return Publish{}, malformed("publish: short")
	case m.Flags&^(FlagSealed|FlagOrigin|FlagRoot|FlagSigned|FlagLent) != 0:
		return Publish{}, malformed("publish: unknown flag")
	case m.Flags&FlagRoot != 0 && m.Flags&FlagOrigin == 0:
		return Publish{}, malformed("publish: no origin")
	case len(m.Source) > MaxPeerID:
		return Publish{}, malformed("publish: peer")
	}
	m.Messages = r.b
	var err error
	if m.Count, m.Named, err = m.Messages.check(true); err != nil {
		return Publish{}, err
	}
	more := uint64(m.Count - 1)
	if m.Number+more > MaxNumber || m.Origin.Serial+more < more {
		return Publish{}, malformed("publish: number")
	}
	return m, nil
}

// Cut is rest.Cut, of what is left of the message's own Messages.
func (m *Publish) Cut(rest *Messages) (first Message, same Messages, count int) {
	if m.Named != 1 {
		return rest.Cut()
	}
	same, *rest = *rest, nil
	all := same
	return all.Next(Message{}), same, m.Count
}

func readSkips(r *reader) []Skip {
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
