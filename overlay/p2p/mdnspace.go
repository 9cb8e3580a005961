// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"slices"
	"time"
)

// Times of discovery.
const (
	// firstAsk is the time from the first question to the second one; it
	// grows by askGrowth up to lastAsk.
	firstAsk  = time.Second
	askGrowth = 4
	lastAsk   = time.Minute
	// repeatAfter is when what is new is announced again, in case the first
	// packet was lost.
	repeatAfter = time.Second
	// answerGap is the least time between two answers of ours on one
	// interface; asked in between, we answer after it.
	answerGap = 50 * time.Millisecond
)

// pace decides when to ask and when to answer on the local network. Quiet
// network, few packets: who hears another node ask saves a question of its
// own, as everybody hears the answers.
//
// Pure: discovery drives it.
type pace struct {
	jitter func(time.Duration) time.Duration // spreads questions

	ask    time.Time // the next question
	gap    time.Duration
	repeat time.Time // everything is announced again; zero if it was
	voices []voice
}

// voice is one interface to speak on.
type voice struct {
	iface int
	spoke time.Time
	owed  bool // an answer
}

// begin starts anew with a set of interfaces: everything is said at once. With
// none there is nothing to do ever.
func (p *pace) begin(now time.Time, ifaces []int) {
	*p = pace{jitter: p.jitter, ask: now, gap: firstAsk}
	if len(ifaces) > 0 {
		p.repeat = now.Add(repeatAfter)
	}
	for _, i := range ifaces {
		p.voices = append(p.voices, voice{iface: i, owed: true})
	}
}

// asked says that somebody, perhaps we ourselves, asked on an interface.
func (p *pace) asked(now time.Time, iface int) {
	for i := range p.voices {
		if p.voices[i].iface == iface {
			p.voices[i].owed = true
		}
	}
	if p.gap > firstAsk*askGrowth { // we have asked twice on our own
		p.ask = now.Add(p.jitter(p.gap))
	}
}

// due returns what to do now: ask everywhere, and answer on interfaces.
func (p *pace) due(now time.Time) (ask bool, answer []int) {
	if !p.repeat.IsZero() && !now.Before(p.repeat) {
		p.repeat = time.Time{}
		for i := range p.voices {
			p.voices[i].owed = true
		}
	}
	for i := range p.voices {
		v := &p.voices[i]
		if v.owed && !now.Before(v.spoke.Add(answerGap)) {
			v.owed, v.spoke = false, now
			answer = append(answer, v.iface)
		}
	}
	if len(p.voices) > 0 && !now.Before(p.ask) {
		ask = true
		p.ask = now.Add(p.jitter(p.gap))
		p.gap = min(p.gap*askGrowth, lastAsk)
	}
	return ask, answer
}

// wake returns when due has something next; zero if never.
func (p *pace) wake() time.Time {
	var times []time.Time
	if !p.repeat.IsZero() {
		times = append(times, p.repeat)
	}
	for _, v := range p.voices {
		if v.owed {
			times = append(times, v.spoke.Add(answerGap))
		}
	}
	if len(p.voices) > 0 {
		times = append(times, p.ask)
	}
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}
