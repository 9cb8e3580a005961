// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
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
	serial uint64
	head   []wire.Header // with body; not if packed
	body   []byte
	packed bool // body begins with the headers
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
	return heads + len(topic) + wire.HeadersSize(c.head) + len(c.body)
}

// seal seals a message where that is due.
func (b *base) seal(keys *security.Cluster, topic string, c content) content {
	c.serial = b.serial.Add(1)
	if !b.mustSeal(keys) {
		return c
	}
	plain := make([]byte, 0, c.size(topic))
	plain = append(append(plain, byte(len(topic))), topic...)
	plain = append(c.appendHeaders(plain), c.body...)
	sealed := make([]byte, 0, 16+security.SealOverhead+len(plain))
	sealed = binary.BigEndian.AppendUint64(sealed, b.cfg.Incarnation)
	sealed = binary.BigEndian.AppendUint64(sealed, c.serial)
	binding := security.Binding{Sender: b.self, SenderIncarnation: b.cfg.Incarnation, RequestID: c.serial}
	return content{flags: wire.FlagSealed, serial: c.serial, body: keys.Seal(b.seals, binding, sealed, plain)}
}

// read fills in what subscriptions see, or returns false if the message is not
// sealed as it has to be.
func (in *incoming) read(b *base, s *source, m *wire.Publish) bool {
	keys := s.keys
	if keys == nil {
		keys = b.cfg.Keys(clusterOf(firstWord(m.Topic)))
	}
	hs, body, tail := m.Headers, m.Body, m.Content
	if m.Flags&wire.FlagSealed == 0 {
		if b.mustSeal(keys) {
			return false
		}
	} else {
		var ok bool
		if tail, ok = open(keys, in.publisher, m); !ok {
			return false
		}
		var err error
		if hs, body, err = wire.DecodeHeaders(tail); err != nil {
			return false
		}
	}
	in.tail = tail
	in.pub = patterns.Publication{Topic: m.Topic, From: s.text, Headers: wire.ConvertHeaders[patterns.Header](hs), Body: body}
	if in.publisher != s.key.peer {
		in.pub.From = in.publisher.String()
	}
	return true
}

// open returns headers and body of a sealed message.
func open(keys *security.Cluster, publisher peer.ID, m *wire.Publish) (tail []byte, ok bool) {
	if len(m.Body) < 16 {
		return nil, false
	}
	binding := security.Binding{
		Sender: publisher, SenderIncarnation: binary.BigEndian.Uint64(m.Body), RequestID: binary.BigEndian.Uint64(m.Body[8:]),
	}
	plain, err := keys.Open(binding, m.Body[16:])
	if err != nil || len(plain) < 1 || len(plain) < 1+int(plain[0]) {
		return nil, false
	}
	topic, tail := string(plain[1:1+plain[0]]), plain[1+plain[0]:]
	return tail, topic == m.Topic // else a forwarder changed it
}
