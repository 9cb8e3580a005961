// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Kinds that only a client and its relay send each other. Package relay's
// documentation is the specification of what they, and the other kinds of that
// profile, mean between these two.
const (
	KindServe     Kind = 56 // Serve, on lane ctl
	KindSubscribe Kind = 57 // Subscribe, on lane ctl
	KindLeave     Kind = 58 // Leave, on lane ctl
	KindDone      Kind = 59 // Done, on lane ctl
	KindGap       Kind = 60 // Gap, on lane pub
)

// The versions of the client profile that this release speaks.
const (
	LeafVersionMin = 1
	LeafVersionMax = 1
)

const (
	leafMagic = "arke-app"

	// MaxLeafHello bounds head and body of a Hello between a client and its
	// relay, in bytes; of a Goodbye, too.
	MaxLeafHello = 4 << 10
	// MinToken and MaxToken bound the length of a token, in bytes: whoever reaches
	// a relay's port may try one after the other.
	MinToken = 16
	MaxToken = 1 << 10
	// MaxLeafText bounds each text that a client and its relay send each other
	// to be read by people, in bytes.
	MaxLeafText = 1 << 10
)

// Features are what a client may do without, as bits. A relay answers with
// those that both have, and only these are used.
type Features uint32

// The features.
const (
	FeatureResume  Features = 1 << 0 // Ack, Void, and sessions that outlive a connection
	FeatureBeats   Features = 1 << 1 // the relay sends Beats, too
	FeatureTunnels Features = 1 << 2
	FeatureSurveys Features = 1 << 3 // replies with FlagMore
	FeatureKeys    Features = 1 << 4 // keys of clusters behind the fields of the client's Hello
	FeatureSeveral Features = 1 << 5 // the relay's KindPublish frames have Messages in place of one tail

	// FeatureObserver, which is none of AllFeatures, is a restriction: the client asks the
	// relay about itself and nothing else, so that a relay which is full has a place for it.
	FeatureObserver Features = 1 << 6

	// AllFeatures are those that this release knows.
	AllFeatures = FeatureResume | FeatureBeats | FeatureTunnels | FeatureSurveys | FeatureKeys | FeatureSeveral
)

// LeafID names a client at its relay. Whoever knows it can take the client's
// place, so that it is kept secret. Zeros = none.
type LeafID [16]byte

// IsZero says that there is none.
func (id LeafID) IsZero() bool { return id == LeafID{} }

// LeafHello is the first frame of a client.
type LeafHello struct {
	MinVersion, MaxVersion uint16
	Features               Features
	Instance               [InstanceSize]byte // random, of the process
	// Leaf is what the relay called the client before, Session what is to be
	// resumed (0 = a fresh one), and Received how many frames of each lane came
	// in it. UnknownCounts says that the client has ended that session, and only asks
	// what the relay received in it.
	Leaf     LeafID
	Session  uint64
	Received Counts
	Clock    uint64 // the client's link clock, ns
	// BeatMillis is how often the client sends something, at least a Beat; 0 =
	// only the state of the connection says whether it lives.
	BeatMillis uint32
	// LargestMessage is the largest body + headers that the client takes, in
	// bytes; 0 = as large as they come.
	LargestMessage uint32
	Name           string // for logs, at most 255 bytes
	// Proof shows that the client holds a token; nil = it shows none. See LeafChallenge.
	Proof []byte
	// Keys are those of clusters that the client brings; of no use without FeatureKeys.
	Keys []LeafKeys
}

// AppendTo appends the encoded message.
func (m *LeafHello) AppendTo(dst []byte) []byte {
	dst = append(dst, leafMagic...)
	dst = binary.BigEndian.AppendUint16(dst, m.MinVersion)
	dst = binary.BigEndian.AppendUint16(dst, m.MaxVersion)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.Features))
	dst = append(dst, m.Instance[:]...)
	dst = append(dst, m.Leaf[:]...)
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = appendCounts(dst, m.Received)
	dst = binary.BigEndian.AppendUint64(dst, m.Clock)
	dst = binary.BigEndian.AppendUint32(dst, m.BeatMillis)
	dst = binary.BigEndian.AppendUint32(dst, m.LargestMessage)
	dst = appendShort(dst, m.Name)
	dst = appendShort(dst, string(m.Proof))
	if m.Features&FeatureKeys != 0 {
		dst = appendLeafKeys(dst, m.Keys)
	}
	return dst
}

// DecodeLeafHello decodes the body of a client's KindHello frame. What follows
// the fields is ignored: a later version may have more.
func DecodeLeafHello(b []byte) (LeafHello, error) {
	r := reader{b: b}
	if string(r.bytes(len(leafMagic))) != leafMagic {
		return LeafHello{}, malformed("hello: magic")
	}
	m := LeafHello{MinVersion: r.uint16(), MaxVersion: r.uint16(), Features: Features(r.uint32())}
	copy(m.Instance[:], r.bytes(len(m.Instance)))
	copy(m.Leaf[:], r.bytes(len(m.Leaf)))
	m.Session = r.uint64()
	m.Received = readCounts(&r)
	m.Clock, m.BeatMillis, m.LargestMessage = r.uint64(), r.uint32(), r.uint32()
	m.Name = r.short()
	if n := int(r.uint8()); n > 0 {
		m.Proof = append(m.Proof, r.bytes(n)...)
	}
	if m.Features&FeatureKeys != 0 {
		m.Keys = readLeafKeys(&r)
	}
	switch {
	case r.bad:
		return LeafHello{}, malformed("hello: short")
	case m.Proof != nil && len(m.Proof) != LeafProofSize:
		return LeafHello{}, malformed("hello: proof")
	case m.MinVersion == 0 || m.MinVersion > m.MaxVersion:
		return LeafHello{}, malformed("hello: versions")
	}
	return m, nil
}

// RelayHello is the relay's answer to a LeafHello.
type RelayHello struct {
	Version  uint16
	Features Features
	Instance [InstanceSize]byte
	Leaf     LeafID // what the client is called from now on
	// Session is the one that was asked for if it goes on, else a new one. 0 =
	// it can't be resumed.
	Session uint64
	// Received counts frames from the client in the session that it asked for;
	// UnknownCounts if the relay does not know it.
	Received Counts
	Clock    uint64 // the relay's link clock, ns
	// BeatMillis is how often the relay sends something, as the client's; 0 if
	// FeatureBeats is not used.
	BeatMillis     uint32
	LargestFrame   uint32 // head and body, in bytes
	LargestMessage uint32 // body and headers, in bytes
	Registrations  uint32
	Subscriptions  uint32
	Calls          uint32 // that have no reply yet
	CallBytes      uint64 // of them together
	// LaneBytes is how much the client may have on its way to the relay in each
	// lane: sent and not acknowledged, in bytes of frames.
	LaneBytes [Lanes]uint32
	Peer      string // peer id of the relay's node, at most 255 bytes
	Name      string // of the relay's program and release, at most 255 bytes
}

// AppendTo appends the encoded message.
func (m *RelayHello) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, m.Version)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.Features))
	dst = append(dst, m.Instance[:]...)
	dst = append(dst, m.Leaf[:]...)
	dst = binary.BigEndian.AppendUint64(dst, m.Session)
	dst = appendCounts(dst, m.Received)
	dst = binary.BigEndian.AppendUint64(dst, m.Clock)
	dst = binary.BigEndian.AppendUint32(dst, m.BeatMillis)
	dst = binary.BigEndian.AppendUint32(dst, m.LargestFrame)
	dst = binary.BigEndian.AppendUint32(dst, m.LargestMessage)
	dst = binary.BigEndian.AppendUint32(dst, m.Registrations)
	dst = binary.BigEndian.AppendUint32(dst, m.Subscriptions)
	dst = binary.BigEndian.AppendUint32(dst, m.Calls)
	dst = binary.BigEndian.AppendUint64(dst, m.CallBytes)
	for _, n := range m.LaneBytes {
		dst = binary.BigEndian.AppendUint32(dst, n)
	}
	dst = appendShort(dst, m.Peer)
	return appendShort(dst, m.Name)
}

// DecodeRelayHello decodes the body of a relay's KindHello frame. What follows
// the fields is ignored: a later version may have more.
func DecodeRelayHello(b []byte) (RelayHello, error) {
	r := reader{b: b}
	m := RelayHello{Version: r.uint16(), Features: Features(r.uint32())}
	copy(m.Instance[:], r.bytes(len(m.Instance)))
	copy(m.Leaf[:], r.bytes(len(m.Leaf)))
	m.Session = r.uint64()
	m.Received = readCounts(&r)
	m.Clock, m.BeatMillis = r.uint64(), r.uint32()
	m.LargestFrame, m.LargestMessage = r.uint32(), r.uint32()
	m.Registrations, m.Subscriptions = r.uint32(), r.uint32()
	m.Calls, m.CallBytes = r.uint32(), r.uint64()
	for i := range m.LaneBytes {
		m.LaneBytes[i] = r.uint32()
	}
	m.Peer, m.Name = r.short(), r.short()
	if r.bad {
		return RelayHello{}, malformed("hello: short")
	}
	return m, nil
}

// PickVersion returns the newest version of the client profile that both sides
// speak, and false if there is none.
func PickVersion(lowest, highest uint16) (uint16, bool) {
	v := min(uint16(LeafVersionMax), highest)
	return v, v >= lowest && v >= LeafVersionMin
}

func appendCounts(dst []byte, counts Counts) []byte {
	for _, n := range counts {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return dst
}

func readCounts(r *reader) (counts Counts) {
	for i := range counts {
		counts[i] = r.uint64()
	}
	return counts
}

// CutText returns the first MaxLeafText bytes of s, at the end of a letter.
func CutText(s string) string {
	if len(s) <= MaxLeafText {
		return s
	}
	n := MaxLeafText
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
