// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"maps"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/sim/scenario"
)

// tamperer changes what its node passes on for publishers, whose signed paths name it.
type tamperer struct {
	onlooker
	*wits
	passed map[passage]wire.Messages // the last that were
}

// passage is one way on which publications pass.
type passage struct {
	publisher string
	to        peer.ID
}

// gone implements tactic.
func (t *tamperer) gone(p peer.ID) {
	maps.DeleteFunc(t.passed, func(way passage, _ wire.Messages) bool { return way.to == p })
}

// out implements tactic. Everything but what the orders are about is as it came,
// numbers and signatures included.
func (t *tamperer) out(to peer.ID, f frame) []frame {
	alter, alters := t.order(scenario.Alter)
	repeat, repeats := t.order(scenario.Repeat)
	if !alters && !repeats || f.kind != wire.KindPublish {
		return []frame{f}
	}
	m, err := wire.DecodePublish(f.body)
	if err != nil || m.Origin.Peer == "" || m.Origin.Peer == string(t.self) || m.Origin.Peer == string(to) {
		return []frame{f}
	}
	m.Messages = slices.Clone(m.Messages)
	if alters {
		t.alter(m.Messages, alter.On)
	}
	if repeats {
		m.Messages = t.repeat(passage{m.Origin.Peer, to}, m.Messages, repeat.On)
	}
	f.body = m.AppendTo(nil)
	return []frame{f}
}

// alter has each body begin with another byte.
func (t *tamperer) alter(messages wire.Messages, on string) {
	for last := (wire.Message{}); len(messages) > 0; {
		last = messages.Next(last)
		_, body, err := wire.DecodeHeaders(last.Content)
		if err != nil || len(body) == 0 || !about(last, on) {
			continue
		}
		body[0]++ // it aliases the copy
		t.Acted("alters publications", 1)
	}
}

// repeat returns what passed that way before, once, or these. A frame has as many
// messages as it had: they are numbered.
func (t *tamperer) repeat(way passage, messages wire.Messages, on string) wire.Messages {
	rest := messages
	if first := rest.Next(wire.Message{}); len(rest) > 0 || !about(first, on) {
		return messages
	}
	last := t.passed[way]
	if last == nil {
		t.passed[way] = messages
		return messages
	}
	delete(t.passed, way)
	t.Acted("repeats publications", 1)
	return last
}

// about says whether a message is on a topic that begins with that word.
func about(m wire.Message, on string) bool {
	word, _, _ := strings.Cut(string(m.Topic), ".")
	return word == on
}
