// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/sim/scenario"
)

// forger speaks in the name of the publishers that its node hears.
type forger struct {
	onlooker
	*wits
	voices map[voice]*heard
	forged uint64 // publications
}

// voice is one session of a publisher, or of a forwarder.
type voice struct {
	source  string
	session uint64
}

// heard is what came of one voice.
type heard struct {
	run       uint32
	number    uint64 // of the last message
	publisher string
	topic     string
	recent    [][]byte // bodies of frames, as they came
}

// maxVoices bounds the voices that are listened to: two forgers would hear ever more
// of each other.
const maxVoices = 16

// remembered is how many frames of a voice are kept to be sent again.
const remembered = 4

// in implements tactic: the node hears everything, and the forger with it.
func (g *forger) in(from peer.ID, f frame) bool {
	if f.kind != wire.KindPublish {
		return true
	}
	m, err := wire.DecodePublish(f.body)
	if err != nil {
		return true
	}
	source := cmp.Or(m.Source, m.Origin.Peer, string(from))
	v := voice{source, m.Session}
	h := g.voices[v]
	if h == nil {
		if len(g.voices) >= maxVoices {
			return true
		}
		h = &heard{}
		g.voices[v] = h
	}
	rest := m.Messages
	h.run, h.number, h.topic = m.Run, m.Number+uint64(m.Count)-1, string(rest.Next(wire.Message{}).Topic)
	h.publisher = cmp.Or(m.Origin.Peer, source)
	h.recent = append(h.recent, slices.Clone(f.body))
	h.recent = h.recent[max(0, len(h.recent)-remembered):]
	return true
}

// beat implements tactic.
func (g *forger) beat() (p plan) {
	for _, v := range slices.SortedFunc(maps.Keys(g.voices), compareVoices) {
		h := g.voices[v]
		word, _, _ := strings.Cut(h.topic, ".")
		for _, to := range g.peers() {
			if string(to) == v.source || string(to) == h.publisher {
				continue
			}
			if g.stands(scenario.ForgeSource, word) {
				g.forge(&p, to, v, h)
			}
			if g.stands(scenario.ForgeMarks, word) {
				g.mark(&p, to, v, h, word)
			}
			if g.stands(scenario.Replay, word) {
				g.replay(&p, to, v, h)
			}
		}
		if g.stands(scenario.Replay, word) {
			h.recent = nil
		}
	}
	return p
}

func compareVoices(a, b voice) int {
	return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.session, b.session))
}

func (g *forger) stands(mode, word string) bool {
	o, ok := g.order(mode)
	return ok && (o.On == word || o.On == "")
}

// forge sends a publication that nobody made: in the session of the publisher,
// behind what it has sent, and in one that it never began.
func (g *forger) forge(p *plan, to peer.ID, v voice, h *heard) {
	for _, m := range []wire.Publish{
		{Session: v.session, Run: h.run, Number: h.number + 1},
		{Session: g.rand.Uint64(), Run: h.run, Number: 1},
	} {
		g.forged++
		content := append([]byte{0, 0}, "forged, and so is its number"...)
		m.Source = v.source
		m.Messages = append(wire.AppendMessage(nil, h.topic, nil, len(content)), content...)
		p.send(to, frame{wire.LanePub, wire.KindPublish, m.AppendTo(nil)})
	}
	g.Acted("forges publications", 2)
}

// mark tells that a publisher has published beyond all measure, and that it is
// lost.
func (g *forger) mark(p *plan, to peer.ID, v voice, h *heard, word string) {
	for _, m := range []wire.PublishMark{
		{Session: v.session, Run: h.run, Number: 1 << 61, Source: v.source, Group: word},
		{Session: v.session, Run: h.run, Number: h.number, Source: v.source, Group: word, Flags: wire.FlagGone},
	} {
		p.send(to, frame{wire.LanePub, wire.KindPublishMark, m.AppendTo(nil)})
	}
	g.Acted("forges marks", 2)
}

// replay sends what came of late again: as it came, and as a message that the
// publisher has given to this node, in a session of this node's own.
func (g *forger) replay(p *plan, to peer.ID, v voice, h *heard) {
	session := g.rand.Uint64()
	number := uint64(1)
	for _, body := range h.recent {
		m, err := wire.DecodePublish(body)
		if err != nil {
			continue
		}
		m.Epoch, m.Skips = 0, nil
		as := m
		as.Source = v.source
		p.send(to, frame{wire.LanePub, wire.KindPublish, as.AppendTo(nil)})
		as = m
		as.Session, as.Number, as.Source = session, number, ""
		as.Flags |= wire.FlagOrigin
		as.Origin.Peer = h.publisher
		number += uint64(m.Count)
		p.send(to, frame{wire.LanePub, wire.KindPublish, as.AppendTo(nil)})
		g.Acted("replays publications", 2)
	}
}
