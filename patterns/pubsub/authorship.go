// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/replay"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// authorship is which signed messages of one publisher have come, in one life of it:
// its newest one.
type authorship struct {
	mu   sync.Mutex
	life uint64        // guarded by mu; of the publisher, if something signed has told it
	seen replay.Window // guarded by mu
}

// raise refuses what was signed in an earlier life, or has a serial up to that one.
func (a *authorship) raise(life, floor uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.renew(life); a.life == life {
		a.seen.Raise(floor)
	}
}

// begin is raise if nothing is known of that life.
func (a *authorship) begin(life, floor uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.renew(life) {
		a.seen.Raise(floor)
	}
}

// renew says whether the life is a later one. mu is held.
func (a *authorship) renew(life uint64) bool {
	if life <= a.life {
		return false
	}
	if a.life > 0 {
		a.seen = replay.Window{}
	}
	a.life = life
	return true
}

// fresh says whether a message whose signature was verified comes for the first time.
// Its publisher may itself send what is older than the window remembers.
func (a *authorship) fresh(said *wire.Authorship, own bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.renew(said.Incarnation) && said.Serial > 0 { // what is older was before this node knew of it
		a.seen.Raise(said.Serial - 1)
	}
	if said.Incarnation != a.life {
		return false
	}
	return own && a.seen.Below(said.Serial) || a.seen.Fresh(said.Serial)
}

// newest is the life, and the last serial of it that is known of.
func (a *authorship) newest() (life, serial uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life, a.seen.Newest()
}

// statement is what a publisher signs of a message.
func statement(network security.NetworkID, publisher peer.ID, said *wire.Authorship, topic string, tail []byte) security.Publication {
	return security.Publication{
		Network: network, Publisher: publisher, Incarnation: said.Incarnation, Session: said.Session, Serial: said.Serial,
		Topic: topic, Tail: tail,
	}
}

// ended says whether each message that should be signed ends with an authorship, and
// each that crossed a border with where it comes from: none is both.
func (in *incoming) ended() bool {
	flags := in.m.Flags & (wire.FlagSigned | wire.FlagLent)
	if flags == 0 {
		return true
	}
	m := wire.Message{}
	for rest := in.m.Messages; len(rest) > 0; {
		m = rest.Next(m)
		ok := false
		switch flags {
		case wire.FlagSigned:
			_, _, ok = wire.CutAuthorship(m.Content)
		case wire.FlagLent:
			_, c, whole := wire.CutCrossed(m.Content)
			ok = whole && name.NetworkFault(string(c.Network)) == "" // subscriptions see it
		}
		if !ok {
			return false
		}
	}
	return true
}

// tail is headers and body of a message of in.
func (in *incoming) tail(m wire.Message) []byte { return m.Content[:len(m.Content)-in.behind()] }

// behind is how many bytes at the end of each message are a signature.
func (in *incoming) behind() int {
	if in.m.Flags&wire.FlagSigned == 0 {
		return 0
	}
	return wire.AuthorshipSize
}

// judge has said which messages of a run do not carry the signature of their publisher,
// or have come before: d.wrong, which is empty if no subscription asks for that.
func (d *delivery) judge(in *incoming, subs []*subscription, topic string, m wire.Message, run wire.Messages) {
	d.wrong = d.wrong[:0]
	if !slices.ContainsFunc(subs, (*subscription).strict) {
		return
	}
	for len(run) > 0 {
		m = run.Next(m)
		wrong := !d.authored(in, topic, m)
		if d.wrong = append(d.wrong, wrong); wrong {
			d.of.Drops.Inc(env.DropUnsigned)
		}
	}
}

// strict says that the subscription takes only what is signed.
func (s *subscription) strict() bool { return s.options.Signed }

// authored says whether a message carries its publisher's signature, and for the first
// time.
func (d *delivery) authored(in *incoming, topic string, m wire.Message) bool {
	if in.m.Flags&wire.FlagSigned == 0 {
		return false
	}
	tail, said, _ := wire.CutAuthorship(m.Content) // it was checked
	if !in.root && said.Session != in.m.Session || in.root && said.Incarnation != in.m.Origin.Incarnation {
		return false
	}
	p := statement(d.of.Cfg.Network, in.publisher, &said, topic, tail)
	if !d.of.Verifies(in.by, func() error { return security.VerifyPublication(p, said.Signature) }) {
		return false
	}
	return d.authors.fresh(&said, in.own)
}

// put gives messages to a subscription, or says where one is missing.
func (d *delivery) put(s *subscription) {
	all := d.whole
	if !s.strict() || !slices.Contains(d.wrong, true) {
		s.inbox.PutRun(all)
		return
	}
	for _, wrong := range d.wrong {
		if one := all.Cut(); wrong {
			s.inbox.Gap(d.gap())
		} else {
			s.inbox.PutRun(one)
		}
	}
}

// share adds the proxies' subscriptions that have all messages to those that get this
// one, or says to them that it is missing.
func (d *delivery) share(wrong bool) {
	if !wrong {
		d.out.subs = append(d.out.subs, d.out.all...)
		return
	}
	for _, s := range d.out.all {
		if s.strict() {
			d.refuse(s)
		} else {
			d.out.subs = append(d.out.subs, s)
		}
	}
}

// refuse tells a subscription that a message was not signed as it asks for.
func (d *delivery) refuse(s *subscription) {
	if s.proxy == nil {
		s.inbox.Gap(d.gap())
		return
	}
	s.proxy.missed.Add(1)
	s.proxy.sink.Gap(d.gap(), []uint64{s.remote})
}

// gap stands for one message, if there was one: it may have been invented.
func (d *delivery) gap() patterns.Gap {
	return patterns.Gap{From: d.text, Missed: 1, Reason: patterns.GapUnsigned}
}
