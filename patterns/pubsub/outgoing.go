// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"encoding/binary"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// outgoing is one message on its way out.
type outgoing struct {
	topic     string
	publisher string // peer id in bytes
	rank      rank   // in the root group
	picks     []wire.Pick
	tree      bool   // it goes through the tree
	epoch     uint32 // of the tree
	patient   bool   // its publisher can wait

	near [2][]byte // tail and body, from the source itself
	far  [2][]byte // the same, with the source named
}

func (o *outgoing) size() int { return headRoom + len(o.near[0]) + len(o.near[1]) }

// headRoom is about the length of the head of a publication.
const headRoom = 64

// content is what is published, as it goes on the wire.
type content struct {
	flags   uint8
	headers []wire.Header
	body    []byte
}

// contentOf seals a message where that is due.
func (e *Engine) contentOf(keys *security.Cluster, topic string, hs []wire.Header, body []byte) content {
	if !e.mustSeal(keys) {
		return content{headers: hs, body: body}
	}
	serial := e.serial.Add(1)
	plain := make([]byte, 0, 1+len(topic)+wire.HeadersSize(hs)+len(body))
	plain = append(append(plain, byte(len(topic))), topic...)
	plain = append(wire.AppendHeaders(plain, hs), body...)
	sealed := make([]byte, 0, 16+security.SealOverhead+len(plain))
	sealed = binary.BigEndian.AppendUint64(sealed, e.cfg.Incarnation)
	sealed = binary.BigEndian.AppendUint64(sealed, serial)
	b := security.Binding{Sender: e.self, SenderIncarnation: e.cfg.Incarnation, RequestID: serial}
	return content{flags: wire.FlagSealed, body: keys.Seal(e.seals, b, sealed, plain)}
}

// open returns headers and body of what came, or false if it is not sealed as
// it has to be.
func (e *Engine) open(keys *security.Cluster, publisher string, m *wire.Publish) (hs []wire.Header, body []byte, ok bool) {
	if m.Flags&wire.FlagSealed == 0 {
		return m.Headers, m.Body, !e.mustSeal(keys)
	}
	if len(m.Body) < 16 {
		return nil, nil, false
	}
	b := security.Binding{
		Sender: peerID(publisher), SenderIncarnation: binary.BigEndian.Uint64(m.Body), RequestID: binary.BigEndian.Uint64(m.Body[8:]),
	}
	plain, err := keys.Open(b, m.Body[16:])
	if err != nil || len(plain) < 1 || len(plain) < 1+int(plain[0]) {
		return nil, nil, false
	}
	topic, rest := string(plain[1:1+plain[0]]), plain[1+plain[0]:]
	if topic != m.Topic {
		return nil, nil, false // a forwarder changed it
	}
	hs, body, err = wire.DecodeHeaders(rest)
	return hs, body, err == nil
}

// prepare encodes the message for all its receivers.
func (s *spread) prepare(o *outgoing, c content) {
	p := wire.Publish{Flags: c.flags, Topic: o.topic, Picks: o.picks, Headers: c.headers}
	if s.root {
		p.Flags |= wire.FlagRoot
		p.Publisher, p.Life, p.Serial = o.publisher, o.rank.life, o.rank.serial
	}
	o.near = [2][]byte{p.AppendTail(make([]byte, 0, 64+len(o.topic)+16*len(o.picks)+wire.HeadersSize(c.headers))), c.body}
	if o.tree {
		p.Source = string(s.source)
		o.far = [2][]byte{p.AppendTail(nil), c.body}
	}
}
