// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Crossed is what a gateway says of a message that it brings from another network, or
// of some that it can't bring. With FlagLent it is the end of the content of each
// message, within the seal if there is one.
type Crossed struct {
	Kind CrossedKind
	// Carrier is a random number of the gateway's, for as long as it lends.
	Carrier uint64
	// Stream names what the publisher publishes in one session of what is lent: all
	// gateways say the same.
	Stream uint64
	// Serial counts the messages of the stream from 1: it is this one's. Of a notice it
	// is the last one that is certainly missing; 0 = none is known.
	Serial uint64
	// Lost is how many messages of the stream this gateway knows to be missing.
	Lost uint64
	// Publisher is the peer id of the publisher's node, at most MaxPeerID bytes, and
	// Network what the gateway calls its network, at most MaxNetworkID.
	Publisher, Network []byte
}

// CrossedKind says what there is beside a Crossed. Closed list; do not reorder.
type CrossedKind uint8

// The kinds.
const (
	CrossedMessage CrossedKind = iota // a message
	CrossedNotice                     // nothing: it tells of what is missing
	CrossedEnd                        // nothing: the publisher's process is lost, and with it nobody knows what
	crossedKinds
)

// crossedMin is the size of an encoded Crossed without texts, in bytes.
const crossedMin = 1 + 4*8 + 1 + 1 + 1

// AppendTo appends the encoded crossing, whose last byte is its length.
func (c *Crossed) AppendTo(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, byte(c.Kind))
	dst = binary.BigEndian.AppendUint64(dst, c.Carrier)
	dst = binary.BigEndian.AppendUint64(dst, c.Stream)
	dst = binary.BigEndian.AppendUint64(dst, c.Serial)
	dst = binary.BigEndian.AppendUint64(dst, c.Lost)
	dst = append(append(dst, byte(len(c.Publisher))), c.Publisher...)
	dst = append(append(dst, byte(len(c.Network))), c.Network...)
	return append(dst, byte(len(dst)-at+1))
}

// CutCrossed takes the crossing off the end of a content, and returns the headers and
// body before it. All of it aliases the content. It is false if there is none, or if
// what is before it is no headers and body.
func CutCrossed(content []byte) (tail []byte, c Crossed, ok bool) {
	if len(content) == 0 {
		return nil, c, false
	}
	n := len(content) - int(content[len(content)-1])
	if n < 2 || len(content)-n < crossedMin || checkEncodedHeaders(content[:n]) != nil {
		return nil, c, false
	}
	r := reader{b: content[n : len(content)-1]}
	c = Crossed{Kind: CrossedKind(r.uint8()), Carrier: r.uint64(), Stream: r.uint64(), Serial: r.number(), Lost: r.number()}
	c.Publisher = r.bytes(int(r.uint8()))
	c.Network = r.bytes(int(r.uint8()))
	if r.bad || len(r.b) > 0 || c.Kind >= crossedKinds || len(c.Publisher) == 0 || len(c.Publisher) > MaxPeerID ||
		len(c.Network) == 0 || len(c.Network) > MaxNetworkID || c.Serial == 0 && c.Kind == CrossedMessage {
		return nil, Crossed{}, false
	}
	return content[:n:n], c, true
}
