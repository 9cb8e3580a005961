// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"bytes"
	"encoding/binary"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// message is one publication as subscriptions on this node get it.
type message struct {
	publisher peer.ID
	pub       patterns.Publication // its headers and body may be in tail alone
	tail      []byte               // headers and body as they travel; nil = not encoded
	packed    bool                 // headers and body are in tail alone
}

// unpacked returns the message as inboxes take it. Not for several goroutines.
func (m *message) unpacked() *patterns.Publication {
	if m.packed {
		hs, body, _ := wire.DecodeHeaders(m.tail) // it was checked
		m.pub.Headers, m.pub.Body = wire.ConvertHeaders[patterns.Header](hs), body
		m.packed = false
	}
	return &m.pub
}

// delivery returns the message as sinks take it. Not for several goroutines.
func (m *message) delivery() Delivery {
	if m.tail == nil {
		hs := wire.ConvertHeaders[wire.Header](m.pub.Headers)
		m.tail = wire.AppendHeaders(make([]byte, 0, wire.HeadersSize(hs)+len(m.pub.Body)), hs)
		m.tail = append(m.tail, m.pub.Body...)
	}
	return Delivery{Topic: m.pub.Topic, Publisher: m.publisher, Tail: m.tail}
}

// content is what is published, as it goes on the wire.
type content struct {
	flags  uint8
	head   []wire.Header // with body; not if packed
	body   []byte
	packed bool // body begins with the headers

	// messages is, in place of all of it, so many that came from elsewhere.
	messages wire.Messages
	count    int
}

// length is how many bytes headers and body have.
func (c *content) length() int {
	if c.packed {
		return len(c.body)
	}
	return wire.HeadersSize(c.head) + len(c.body)
}

// append appends all but the body.
func (c *content) appendHeaders(dst []byte) []byte {
	if c.packed {
		return dst
	}
	return wire.AppendHeaders(dst, c.head)
}

// size is about how many bytes the message has in a frame.
func (c *content) size(topic string) int {
	const heads = 96
	return heads + len(topic) + wire.HeadersSize(c.head) + len(c.body) + len(c.messages)
}

// seal seals a message.
func (b *base) seal(keys *security.Cluster, topic string, serial uint64, c content) content {
	plain := make([]byte, 0, c.size(topic))
	plain = append(append(plain, byte(len(topic))), topic...)
	plain = append(c.appendHeaders(plain), c.body...)
	sealed := make([]byte, 0, 16+security.SealOverhead+len(plain))
	sealed = binary.BigEndian.AppendUint64(sealed, b.cfg.Incarnation)
	sealed = binary.BigEndian.AppendUint64(sealed, serial)
	binding := security.Binding{Sender: b.self, SenderIncarnation: b.cfg.Incarnation, RequestID: serial}
	return content{flags: wire.FlagSealed, body: keys.Seal(b.seals, binding, sealed, plain)}
}

// unseal opens what is sealed, or returns false if something is not sealed as it
// has to be. keys are those of the group; nil = of each topic's.
func (b *base) unseal(in *incoming, keys *security.Cluster) bool {
	sealed := in.m.Flags&wire.FlagSealed != 0
	var opened wire.Messages
	for rest := in.m.Messages; len(rest) > 0; {
		first, run, count := in.m.Cut(&rest)
		of := keys
		if of == nil {
			of = b.cfg.Keys(clusterOf(firstWord(string(first.Topic))))
		}
		if !sealed {
			if b.mustSeal(of) {
				return false
			}
			continue
		}
		topic, picks := string(first.Topic), first.Picks.AppendTo(nil)
		for m := first; count > 0; count-- {
			m = run.Next(m)
			content, ok := open(of, in.publisher, first.Topic, m.Content)
			if !ok {
				return false
			}
			opened = append(wire.AppendMessage(opened, topic, picks, len(content)), content...)
			topic, picks = "", nil // as before
		}
	}
	if sealed {
		in.m.Messages, in.lent = opened, false
	}
	return true
}

// open returns headers and body of the content of a sealed message, which begins
// with headers, too: none.
func open(keys *security.Cluster, publisher peer.ID, topic, content []byte) (tail []byte, ok bool) {
	_, body, err := wire.DecodeHeaders(content)
	if err != nil || len(body) < 16 {
		return nil, false
	}
	binding := security.Binding{
		Sender: publisher, SenderIncarnation: binary.BigEndian.Uint64(body), RequestID: binary.BigEndian.Uint64(body[8:]),
	}
	plain, err := keys.Open(binding, body[16:])
	if err != nil || len(plain) < 1 || len(plain) < 1+int(plain[0]) {
		return nil, false
	}
	told, tail := plain[1:1+plain[0]], plain[1+plain[0]:]
	if _, _, err := wire.DecodeHeaders(tail); err != nil {
		return nil, false
	}
	return tail, bytes.Equal(told, topic) // else a forwarder changed it
}
