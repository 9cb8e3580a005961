// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// delivery hands messages that came to the subscriptions here. It is scratch of
// who delivers: one at a time.
type delivery struct {
	of      *local
	authors *authorship
	from    peer.ID
	text    string          // from, as subscriptions see it
	every   []*subscription // the inboxes that have all messages of a topic
	whole   inbox.Run       // what they have
	picks   []wire.Pick
	mine    []wire.Pick // of the queues that this node has them for
	out     handout     // all of it have the proxies' that want all messages of a topic
	wrong   []bool      // of a run, if somebody asks for signatures: it does not carry one
}

// deliver hands on messages whose turn it is. If they echo, this node published
// them: only its queues still want them.
func (d *delivery) deliver(in *incoming, echo bool) {
	if d.from != in.publisher || d.text == "" {
		d.from, d.text = in.publisher, in.publisher.String()
	}
	if in.m.Flags&wire.FlagLent != 0 {
		d.of.abroad.deliver(in)
		return
	}
	d.out.sink.Publisher, d.out.sink.Session = in.publisher, in.m.Session
	skip := in.skip
	at := 0
	for rest := in.m.Messages; len(rest) > 0; {
		first, run, count := in.m.Cut(&rest)
		d.picks = append(first.Picks.AppendTo(d.picks[:0]), in.picks...)
		for count > 0 {
			part, left, n, key := in.part(at, first, run, count)
			if skip < n {
				if a := d.of.heard(in, key, first.Topic); a != nil {
					d.run(in, a, first, part, n, skip, echo)
				}
			}
			run, count, at, skip = left, count-n, at+n, max(skip-n, 0)
		}
	}
}

// run hands on messages with the topic of the first one, which are for those of a, but
// for those to skip.
func (d *delivery) run(in *incoming, a *answer, first wire.Message, run wire.Messages, count, skip int, echo bool) {
	subs := a.of(in.root)
	d.every, d.out.all, d.mine = d.every[:0], d.out.all[:0], d.mine[:0]
	for _, s := range subs {
		switch {
		case s.queue != 0 || echo:
		case s.proxy != nil:
			d.out.all = append(d.out.all, s)
		default:
			d.every = append(d.every, s)
		}
	}
	for _, p := range d.picks {
		if p.Node == d.of.Hash {
			d.mine = append(d.mine, p)
		}
	}
	if len(d.every) == 0 && len(d.out.all) == 0 && len(d.mine) == 0 {
		return
	}
	for range skip {
		first = run.Next(first)
	}
	d.judge(in, subs, a.topic, first, run)
	if len(d.every) > 0 || len(d.mine) > 0 {
		d.whole = inbox.Run{Topic: a.topic, From: d.text, Messages: in.owned(run), Count: count - skip, Behind: in.behind()}
	}
	for _, s := range d.every {
		d.put(s)
	}
	if len(d.out.all) > 0 || len(d.mine) > 0 {
		d.each(in, a, first, run, echo)
	}
	d.whole = inbox.Run{}
	clear(d.every)
	clear(d.out.all)
}

// each hands on the messages of a run: to proxies, and to one subscription of each
// queue, then one by one.
func (d *delivery) each(in *incoming, a *answer, m wire.Message, run wire.Messages, echo bool) {
	d.out.sink.Topic = a.topic
	if len(d.mine) == 0 && len(d.wrong) == 0 {
		for len(run) > 0 {
			m = run.Next(m)
			d.out.add(in.tail(m))
		}
		d.out.toAll()
		return
	}
	for i := 0; len(run) > 0; {
		m = run.Next(m)
		var one inbox.Run
		if len(d.mine) > 0 {
			one = d.whole.Cut()
		}
		wrong := i < len(d.wrong) && d.wrong[i]
		i++
		d.share(wrong)
		for _, q := range d.mine {
			switch s := d.of.one(a.of(in.root), q.Queue, origin{}, wrong); {
			case s == nil && (echo || !in.root):
				d.of.Drops.Inc(env.DropUnpicked)
			case s == nil:
			case s.lends():
				d.out.sink.Tails = append(d.out.tails, in.tail(m))
				s.lend(&d.out.sink, q, d.picks)
			case wrong && s.strict():
				d.refuse(s)
			case s.proxy == nil:
				s.inbox.PutRun(one)
			default:
				d.out.subs = append(d.out.subs, s)
			}
		}
		if len(d.out.subs) > 0 {
			d.out.tails = append(d.out.tails, in.tail(m))
			d.out.hand()
		}
	}
	d.out.sink.Tails = nil
	clear(d.out.tails[:min(1, cap(d.out.tails))])
}
