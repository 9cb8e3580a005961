// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/replay"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
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

// encoded returns headers and body as they travel. Not for several goroutines.
func (m *message) encoded() []byte {
	if m.tail == nil {
		hs := wire.ConvertHeaders[wire.Header](m.pub.Headers)
		m.tail = wire.AppendHeaders(make([]byte, 0, wire.HeadersSize(hs)+len(m.pub.Body)), hs)
		m.tail = append(m.tail, m.pub.Body...)
	}
	return m.tail
}

// signed signs a message: its content gets an end.
func signed(b *env.Base, session, serial uint64, topic string, c fanout.Content) fanout.Content {
	tail := make([]byte, 0, c.Length()+wire.AuthorshipSize)
	tail = append(c.AppendHeaders(tail), c.Body...)
	said := wire.Authorship{Incarnation: b.Cfg.Incarnation, Session: session, Serial: serial}
	said.Signature = b.Cfg.Key.SignPublication(statement(b.Cfg.Network, b.Self, &said, topic, tail))
	b.Counts.Signatures.Add(1)
	return fanout.Content{Flags: c.Flags | wire.FlagSigned, Packed: true, Body: said.AppendTo(tail)}
}

// sealWith seals a message with one of the keys.
func sealWith(b *env.Base, keys *security.Cluster, key security.KeyID, topic string, serial uint64, c fanout.Content) fanout.Content {
	plain := make([]byte, 0, c.Size(topic))
	plain = append(append(plain, byte(len(topic))), topic...)
	plain = append(c.AppendHeaders(plain), c.Body...)
	sealed := make([]byte, 0, 16+security.SealOverhead+len(plain))
	sealed = binary.BigEndian.AppendUint64(sealed, b.Cfg.Incarnation)
	sealed = binary.BigEndian.AppendUint64(sealed, serial)
	binding := security.Binding{Sender: b.Self, SenderIncarnation: b.Cfg.Incarnation, RequestID: serial, Key: key}
	return fanout.Content{Flags: c.Flags | wire.FlagSealed, Body: keys.Seal(b.Seals, binding, sealed, plain)}
}

// sealedAs is when a message was sealed.
type sealedAs struct {
	life   uint64 // incarnation of the publisher
	serial uint64 // used once in that
	key    uint64 // that sealed it
}

// unseen takes out messages that have been opened before, and says how many. Their
// publisher may itself send what is older than the window remembers. It is called when
// it is their turn: then they are as good as in the order in which they were sealed.
func (in *incoming) unseen(life uint64, seen *replay.Window) (replayed int) {
	var again []int
	for i := in.skip; i < len(in.sealed); i++ {
		s := in.sealed[i]
		if s.life != life || !(in.own && seen.Below(s.serial)) && !seen.Fresh(s.serial) {
			again = append(again, i)
		}
	}
	if len(again) == 0 {
		return 0
	}
	var kept wire.Messages
	var sealed []sealedAs
	m, count := wire.Message{}, 0
	for i, rest := 0, in.m.Messages; len(rest) > 0; i++ {
		if m = rest.Next(m); i >= in.skip && !slices.Contains(again, i) {
			kept = append(wire.AppendMessage(kept, string(m.Topic), m.Picks.AppendTo(nil), len(m.Content)), m.Content...)
			sealed = append(sealed, in.sealed[i])
			count++
		}
	}
	in.m.Messages, in.m.Count, in.m.Named, in.skip, in.sealed = kept, count, count, 0, sealed
	return len(again)
}

// opens says whether messages for this node may be handed on, and opens those that
// are sealed.
func opens(e *Engine, s *source, in *incoming) bool {
	switch {
	case in.relay:
		return true
	case in.root:
		ok := e.roots.admit(in, s.key.peer)
		return ok && unseal(e.base, in, within{})
	}
	return unseal(e.base, in, within{&s.subject, e.local})
}

// part cuts off those messages of a run, which follows at others in its frame, that are
// for the same subscriptions, because the same key has sealed them.
func (in *incoming) part(at int, m wire.Message, run wire.Messages, count int) (same, left wire.Messages, n int, key uint64) {
	if !in.keyed {
		return run, nil, count, 0
	}
	key, left = in.sealed[at].key, run
	for n < count && in.sealed[at+n].key == key {
		m = left.Next(m)
		n++
	}
	return run[:len(run)-len(left)], left, n, key
}

// within is where messages are opened: in what a source publishes in, also with keys
// that somebody here has brought for it; the zero value is with the node's own keys alone.
type within struct {
	subject *subject
	local   *local
}

// unseal opens what is sealed, or returns false, and counts it, if something is not
// sealed as it has to be.
func unseal(b *env.Base, in *incoming, w within) bool {
	sealed := in.m.Flags&wire.FlagSealed != 0
	var opened wire.Messages
	for rest := in.m.Messages; len(rest) > 0; {
		first, run, count := in.m.Cut(&rest)
		var own *security.Cluster
		if w.subject != nil {
			own = w.subject.keys
		} else {
			own = b.Cfg.Keys(env.ClusterOf(env.FirstWord(string(first.Topic))))
		}
		ok := sealed || !b.MustSeal(own)
		if sealed {
			opened, ok = in.openRun(opened, w, own, first, run, count)
		}
		if !ok {
			b.Drops.Add(env.DropUnauthorized, uint64(in.m.Count))
			return false
		}
	}
	switch {
	case sealed:
		in.m.Messages, in.lent = opened, false
	case w.subject != nil && !w.subject.is(public):
		b.Drops.Add(env.DropUnauthorized, uint64(in.m.Count))
		return false
	}
	if !in.ended() {
		b.Drops.Add(env.DropMalformed, uint64(in.m.Count))
		return false
	}
	return true
}

// openRun opens messages that have the topic of the first one, and appends them to
// opened.
func (in *incoming) openRun(opened wire.Messages, w within, own *security.Cluster, m wire.Message, run wire.Messages, count int) (_ wire.Messages, ok bool) {
	topic, picks := string(m.Topic), m.Picks.AppendTo(nil)
	for range count {
		m = run.Next(m)
		key := sealedWith(m.Content)
		keys := w.keys(own, key)
		if keys == nil {
			return nil, false
		}
		content, binding, ok := open(keys, in.publisher, m.Topic, m.Content)
		if !ok || w.subject != nil && !in.sealedBy(w.subject, keys, key) {
			return nil, false
		}
		in.sealed = append(in.sealed, sealedAs{binding.SenderIncarnation, binding.RequestID, key})
		opened = append(wire.AppendMessage(opened, topic, picks, len(content)), content...)
		topic, picks = "", nil // as before
	}
	return opened, true
}

// keys returns what opens what that key has sealed; nil = nobody here can.
func (w within) keys(own *security.Cluster, key uint64) *security.Cluster {
	if w.subject == nil || own.Opens(idOf(key)) {
		return own
	}
	return w.local.keyFor(w.subject.word, key)
}

// sealedBy takes in which key has sealed a message, and says whether that may be.
func (in *incoming) sealedBy(s *subject, keys *security.Cluster, key uint64) bool {
	if keys.Derived() {
		return s.is(public)
	}
	in.keyed, in.word = true, s.word
	s.key.Store(key)
	return s.is(keyed)
}

// open returns headers and body of the content of a sealed message, which begins
// with headers, too: none.
func open(keys *security.Cluster, publisher peer.ID, topic, content []byte) (tail []byte, binding security.Binding, ok bool) {
	_, body, err := wire.DecodeHeaders(content)
	if err != nil || len(body) < 16 {
		return nil, binding, false
	}
	binding = security.Binding{
		Sender: publisher, SenderIncarnation: binary.BigEndian.Uint64(body), RequestID: binary.BigEndian.Uint64(body[8:]),
	}
	plain, err := keys.Open(binding, body[16:])
	if err != nil || len(plain) < 1 || len(plain) < 1+int(plain[0]) {
		return nil, binding, false
	}
	told := plain[1 : 1+plain[0]]
	tail = plain[1+plain[0]:]
	if _, _, err := wire.DecodeHeaders(tail); err != nil {
		return nil, binding, false
	}
	return tail, binding, bytes.Equal(told, topic) // else a forwarder changed it
}
