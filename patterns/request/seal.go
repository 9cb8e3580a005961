// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/binary"
	"io"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// encode returns the request of an attempt in two parts. They are valid until
// the next call.
func (c *call) encode(a *attempt) (head, body []byte) {
	e := c.engine
	r := wire.Request{
		ID:          a.id,
		Member:      uint64(a.member.ID),
		Incarnation: a.member.Incarnation,
		Deadline:    e.cfg.Links.LinkTime(c.deadline),
		Attempt:     uint8(a.number),
		Pattern:     uint8(c.pattern),
		Headers:     c.headers,
	}
	if c.idempotent {
		r.Flags |= wire.FlagIdempotent
	}
	body = c.body
	if c.route.seal {
		r.Flags |= wire.FlagSealed
		r.Headers = nil
		body = make([]byte, 0, sealedHead+sealedSize(c.headers, c.body))
		body = binary.BigEndian.AppendUint64(body, e.cfg.Incarnation)
		body = sealMessage(c.route.keys, e.random, e.binding(a), body, c.headers, c.body)
	}
	return r.AppendHead(c.scratch[:0]), body
}

// binding is what a request of ours is sealed for.
func (e *Engine) binding(a *attempt) security.Binding {
	return security.Binding{
		Sender:            e.self,
		SenderIncarnation: e.cfg.Incarnation,
		Member:            uint64(a.member.ID),
		MemberIncarnation: a.member.Incarnation,
		RequestID:         a.id,
		Pattern:           uint8(a.call.pattern),
	}
}

// sealedSize is the length of what sealMessage appends.
func sealedSize(hs []wire.Header, body []byte) int {
	return security.SealOverhead + wire.HeadersSize(hs) + len(body)
}

// sealMessage appends headers and body, sealed.
func sealMessage(keys *security.Cluster, random io.Reader, b security.Binding, dst []byte, hs []wire.Header, body []byte) []byte {
	plain := make([]byte, 0, wire.HeadersSize(hs)+len(body))
	plain = append(wire.AppendHeaders(plain, hs), body...)
	return keys.Seal(random, b, dst, plain)
}

// openMessage is the opposite of sealMessage.
func openMessage(keys *security.Cluster, b security.Binding, sealed []byte) ([]wire.Header, []byte, error) {
	plain, err := keys.Open(b, sealed)
	if err != nil {
		return nil, nil, err
	}
	return wire.DecodeHeaders(plain)
}
