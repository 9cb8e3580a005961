// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// The tail of a sealed request is the sender's incarnation, in clear because the
// receiver needs it to open the rest, and what security.Cluster.Seal made of the
// encoded headers and the body. In a sealed reply the incarnation is left out:
// the caller knows its own.
const (
	sealedHead     = 8
	sealedOverhead = sealedHead + security.AgreedOverhead
)

// agree has the request sealed with what this node and the member's agree on. false =
// the member says no ephemeral key: with the cluster's key alone nothing is sealed.
func agree(a *attempt) (ok bool) {
	c := a.call
	var err error
	if a.agreement, err = c.cfg.Ephemerals.With(a.remote.told.of(a.member.Ephemeral)); err != nil {
		return false
	}
	a.agreement.Keep(c.deadline)
	return true
}

// rekey takes in the ephemeral key that a member's node has told because it has erased,
// or lost, the one that the request was sealed with. Nobody has opened that, so the
// attempt may be sent again, once. The telling is sealed with the cluster's key.
func rekey(a *attempt) bool {
	c := a.call
	if !c.route.seal || a.rekeyed || a.reply.Flags&wire.FlagSealed == 0 {
		return false
	}
	b := a.binding()
	b.Reply, b.Agreement = true, nil
	plain, err := c.route.keys.Open(b, a.reply.Tail)
	key, ok := security.ParseEphemeralKey(plain)
	if err != nil || !ok {
		c.drops.Inc(dropReplyBad)
		return false
	}
	a.remote.told.put(a.member.Ephemeral, key)
	a.rekeyed, a.replied = true, false
	c.plan.trials[a.number].sent = false
	a.remote.addAttempt(a)
	return true
}

// maxTold bounds the keys that are remembered of one peer. Behind a gateway there are many
// nodes; to forget one's key costs a round trip.
const maxTold = 256

// toldKeys are the ephemeral keys that nodes behind one peer have told themselves, by those
// that the records of their members had when they were asked. The zero value is none.
type toldKeys struct {
	any atomic.Bool

	mu  sync.RWMutex
	now map[security.EphemeralKey]security.EphemeralKey // guarded by mu
}

func (t *toldKeys) put(instead, now security.EphemeralKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || len(t.now) >= maxTold {
		t.now = make(map[security.EphemeralKey]security.EphemeralKey)
	}
	t.now[instead] = now
	t.any.Store(true)
}

// of is the key of the node to seal with, by what a member's record says.
func (t *toldKeys) of(said security.EphemeralKey) security.EphemeralKey {
	if !t.any.Load() {
		return said
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if now, ok := t.now[said]; ok {
		return now
	}
	return said
}

// seal returns the tail of a sealed request, which is in the call's room.
func (a *attempt) seal() []byte {
	c := a.call
	r := c.rooms.take()
	c.memory.room = r
	tail := slices.Grow(r.b[:0], sealedOverhead+wire.HeadersSize(c.headers)+len(c.body))
	tail = binary.BigEndian.AppendUint64(tail, c.cfg.Incarnation)
	if c.raw {
		r.b = c.route.keys.Seal(c.random, a.binding(), tail, c.body)
	} else {
		r.b = sealMessage(c.route.keys, c.random, a.binding(), tail, c.headers, c.body)
	}
	return r.b
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
		Agreement:         a.agreement,
	}
}

// sealMessage appends headers and body, sealed in place.
func sealMessage(keys *security.Cluster, random io.Reader, b security.Binding, dst []byte, hs []wire.Header, body []byte) []byte {
	n := len(dst)
	at := n + b.Room()
	all := slices.Grow(dst, b.Room()+wire.HeadersSize(hs)+len(body)+security.SealTag)
	all = wire.AppendTail(all[:at], hs, body)
	return keys.Seal(random, b, all[:n], all[at:])
}

// rooms lends memory for what is sealed until a link has it. A link copies what it sends; what
// stands in line for it must be left as it is, and is not given back.
type rooms struct{ spare sync.Pool }

// maxRoom bounds what is kept, in bytes: larger messages are few.
const maxRoom = 2 * wire.MaxPayload

// sealRoom is one of them.
type sealRoom struct{ b []byte }

func (s *rooms) take() *sealRoom {
	if r, ok := s.spare.Get().(*sealRoom); ok {
		return r
	}
	return &sealRoom{}
}

// put gives it back; nil = there is none.
func (s *rooms) put(r *sealRoom) {
	if r != nil && cap(r.b) <= maxRoom {
		s.spare.Put(r)
	}
}
