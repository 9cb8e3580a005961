// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/binary"
	"io"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// The tail of a sealed request is the sender's incarnation, in clear because the
// receiver needs it to open the rest, and what security.Cluster.Seal made of the
// encoded headers and the body. In a sealed reply the incarnation is left out:
// the caller knows its own.
const (
	sealedHead     = 8
	sealedOverhead = sealedHead + security.SealOverhead
)

// seal returns the tail of a sealed request.
func (a *attempt) seal() []byte {
	c := a.call
	tail := make([]byte, 0, sealedOverhead+wire.HeadersSize(c.headers)+len(c.body))
	tail = binary.BigEndian.AppendUint64(tail, c.cfg.Incarnation)
	if c.raw {
		return c.route.keys.Seal(c.random, a.binding(), tail, c.body)
	}
	return sealMessage(c.route.keys, c.random, a.binding(), tail, c.headers, c.body)
}

// binding is what the request is sealed for.
func (a *attempt) binding() security.Binding {
	c := a.call
	return security.Binding{
		Sender:            c.self,
		SenderIncarnation: c.cfg.Incarnation,
		Member:            uint64(a.member.ID),
		MemberIncarnation: a.member.Incarnation,
		RequestID:         a.id,
		Pattern:           uint8(c.pattern),
		Key:               a.member.Key,
	}
}

// sealMessage appends headers and body, sealed.
func sealMessage(keys *security.Cluster, random io.Reader, b security.Binding, dst []byte, hs []wire.Header, body []byte) []byte {
	plain := make([]byte, 0, wire.HeadersSize(hs)+len(body))
	return keys.Seal(random, b, dst, wire.AppendTail(plain, hs, body))
}
