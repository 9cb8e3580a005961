// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Bits of Subscribe.Options.
const (
	// SubscribeNoEcho: not what this client publishes.
	SubscribeNoEcho uint8 = 1 << 0
	// SubscribeBlocks: publishers wait while the subscription is full.
	SubscribeBlocks uint8 = 1 << 1
	// SubscribeSigned: only what its publisher has signed.
	SubscribeSigned uint8 = 1 << 2
)

// Subscribe asks for what is published on topics that match the pattern. It is
// answered by one Done.
type Subscribe struct {
	// ID is the client's name for the subscription, which no other registration
	// or subscription of its session has.
	ID      uint64
	Timeout uint64 // µs; 0 = 30 s
	Options uint8
	// Length and Bytes are the buffer that the program asks for: in messages, and in
	// bytes of topics, headers and bodies. With SubscribeBlocks they bound what was
	// sent for the subscription and not taken (see Taken). 0 = the defaults of 4,096
	// and 16 MiB, or what the relay holds for a client if that is less.
	Length, Bytes uint32
	Queue         string // the group of subscriptions that share the messages, at most 255 bytes
	Pattern       string // at most 255 bytes
}

// AppendTo appends the encoded message.
func (m *Subscribe) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = binary.BigEndian.AppendUint64(dst, m.Timeout)
	dst = append(dst, m.Options)
	dst = binary.BigEndian.AppendUint32(dst, m.Length)
	dst = binary.BigEndian.AppendUint32(dst, m.Bytes)
	dst = appendShort(dst, m.Queue)
	return appendShort(dst, m.Pattern)
}

// DecodeSubscribe decodes the body of a KindSubscribe frame. Whether the
// pattern is one is not judged.
func DecodeSubscribe(b []byte) (Subscribe, error) {
	r := reader{b: b}
	m := Subscribe{
		ID: r.uint64(), Timeout: r.uint64(), Options: r.uint8(), Length: r.uint32(), Bytes: r.uint32(),
		Queue: r.short(), Pattern: r.short(),
	}
	switch {
	case r.bad || len(r.b) > 0:
		return Subscribe{}, malformed("subscribe: length")
	case m.Options&^(SubscribeNoEcho|SubscribeBlocks|SubscribeSigned) != 0:
		return Subscribe{}, malformed("subscribe: unknown option")
	}
	return m, nil
}

// FlagSubscription, in a KindTunnelCredit frame of a client, says that it is a
// Taken, and has nothing to do with tunnels.
const FlagSubscription uint8 = 1 << 4

// Taken gives credit for a subscription that blocks publishers. It is a
// KindTunnelCredit frame.
type Taken struct {
	ID    uint64 // of the subscription
	Total uint64 // publications that its program has taken since the beginning
}

// AppendTo appends the encoded message.
func (m Taken) AppendTo(dst []byte) []byte {
	dst = append(binary.BigEndian.AppendUint64(dst, m.ID), FlagSubscription)
	return binary.BigEndian.AppendUint64(dst, m.Total)
}

// DecodeTaken decodes the body of a KindTunnelCredit frame that is a Taken. ours
// is false if it belongs to a tunnel.
func DecodeTaken(b []byte) (m Taken, ours bool, err error) {
	r := reader{b: b}
	m.ID = r.uint64()
	if r.uint8() != FlagSubscription {
		return Taken{}, false, nil
	}
	if m.Total = r.uint64(); r.bad || len(r.b) > 0 {
		return Taken{}, true, malformed("taken: length")
	}
	return m, true, nil
}

// SeveralPublications, as the ID of a LeafPublish, says that it is several messages, each
// of which has the ID 0 and no deadline: what comes while the connection is busy shares a
// frame. In place of one tail there are Messages, none of which is named.
const SeveralPublications = 1<<64 - 1

// LeafPublish is a KindPublish frame of a client.
type LeafPublish struct {
	// ID is the client's, as that of a registration. 0 = no answer is wanted but
	// a Done with the id 0 if it was refused; else there is one in any case. Or it is
	// SeveralPublications.
	ID uint64
	// Deadline is when the publisher gives up, in ns of the client's link clock;
	// 0 = 5 s from when it is its turn among those of its topic.
	Deadline uint64
	Topic    string // at most 255 bytes
	// Tail is the headers and the body, encoded: DecodeHeaders reads it. Or it is Messages.
	Tail []byte
	// Count is how many messages there are. Only decoders fill it.
	Count int
}

// AppendHead appends everything but Tail.
func (m *LeafPublish) AppendHead(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = binary.BigEndian.AppendUint64(dst, m.Deadline)
	return appendShort(dst, m.Topic)
}

// DecodeLeafPublish decodes the body of a client's KindPublish frame, but not
// the Tail, which aliases b; several messages are whole and of a legal form. Whether the
// topic is one is not judged. known, if not nil, spares the topic's allocation.
func DecodeLeafPublish(b []byte, known *Texts) (LeafPublish, error) {
	r := reader{b: b}
	m := LeafPublish{ID: r.uint64(), Deadline: r.uint64(), Topic: known.read(&r), Tail: r.b, Count: 1}
	switch {
	case r.bad:
		return LeafPublish{}, malformed("publish: short")
	case m.ID != SeveralPublications:
		return m, nil
	case m.Deadline != 0:
		return LeafPublish{}, malformed("publish: several with a deadline")
	}
	var err error
	if m.Count, err = Messages(m.Tail).CheckUnnamed(); err != nil {
		return LeafPublish{}, err
	}
	return m, nil
}

// Next takes the first message out, of which there must be one, and returns its tail.
func (m *LeafPublish) Next() (tail []byte) {
	m.Count--
	if m.ID != SeveralPublications {
		return m.Tail
	}
	rest := Messages(m.Tail)
	tail = rest.Next(Message{}).Content
	m.Tail = rest
	return tail
}

// Skip takes the first n messages out.
func (m *LeafPublish) Skip(n int) {
	if n == m.Count {
		m.Count = 0
	}
	for ; n > 0 && m.Count > 0; n-- {
		m.Next()
	}
}

// LeafPublication is a KindPublish frame of a relay: one message for some of a
// client's subscriptions, or with FeatureSeveral one or several that follow each other.
type LeafPublication struct {
	Publisher string // peer id of its node, at most 255 bytes
	Topic     string // at most 255 bytes
	// Subscriptions are the ids of those that it is for, at least one.
	Subscriptions []uint64
	// Tail is the headers and the body, encoded: DecodeHeaders reads it. With
	// FeatureSeveral it is Messages, none of which is named.
	Tail []byte
}

// AppendHead appends everything but Tail.
func (m *LeafPublication) AppendHead(dst []byte) []byte {
	dst = appendShort(dst, m.Publisher)
	dst = appendShort(dst, m.Topic)
	return appendIDs(dst, m.Subscriptions)
}

// DecodeLeafPublication decodes the body of a relay's KindPublish frame, but not
// the Tail, which aliases b. The ids are put into ids, if there is room. known, if
// not nil, spares the allocation of topic and publisher.
func DecodeLeafPublication(b []byte, ids []uint64, known *Texts) (LeafPublication, error) {
	r := reader{b: b}
	m := LeafPublication{Publisher: known.read(&r), Topic: known.read(&r), Subscriptions: r.ids(ids)}
	m.Tail = r.b
	if r.bad {
		return LeafPublication{}, malformed("publication: short")
	}
	return m, nil
}

// GapReason says why messages are missing. Closed list; do not reorder.
type GapReason uint8

// The reasons.
const (
	GapSlow       GapReason = 1 // the subscription was full
	GapLane       GapReason = 2 // a lane on the way was full
	GapLost       GapReason = 3 // a node on the way was lost
	GapRelay      GapReason = 4 // the relay had no room for the client
	GapPublisher  GapReason = 5 // the publisher's process was lost
	GapUnsigned   GapReason = 6 // not signed by its publisher, as the subscription asks for
	GapBorder     GapReason = 7 // a gateway could not bring it from another network
	gapReasonEnds           = 8
)

// Gap tells some of a client's subscriptions that messages are missing. It
// stands where they would have been.
type Gap struct {
	Subscriptions []uint64 // at least one
	Missed        uint64   // at most so many if !Exact; 0 then means that nobody knows
	Exact         bool
	Reason        GapReason
	Publisher     string // peer id of its node, or "" = of several
}

// AppendTo appends the encoded message.
func (m *Gap) AppendTo(dst []byte) []byte {
	dst = appendIDs(dst, m.Subscriptions)
	dst = binary.BigEndian.AppendUint64(dst, m.Missed)
	dst = appendBool(dst, m.Exact)
	dst = append(dst, byte(m.Reason))
	return appendShort(dst, m.Publisher)
}

// DecodeGap decodes the body of a KindGap frame.
func DecodeGap(b []byte) (Gap, error) {
	r := reader{b: b}
	m := Gap{
		Subscriptions: r.ids(nil), Missed: r.uint64(), Exact: r.bool(),
		Reason: GapReason(r.uint8()), Publisher: r.short(),
	}
	switch {
	case r.bad || len(r.b) > 0:
		return Gap{}, malformed("gap: length")
	case m.Reason == 0 || m.Reason >= gapReasonEnds:
		return Gap{}, malformed("gap: unknown reason")
	}
	return m, nil
}

// appendIDs appends 1 to 65,535 ids with their count.
func appendIDs(dst []byte, ids []uint64) []byte {
	if len(ids) == 0 || len(ids) > 1<<16-1 {
		panic("BUG: no ids, or more than there are")
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(ids)))
	for _, id := range ids {
		dst = binary.BigEndian.AppendUint64(dst, id)
	}
	return dst
}
