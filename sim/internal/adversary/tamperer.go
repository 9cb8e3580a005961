// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/sim/scenario"
)

// tamperer changes what its node passes on for publishers, whose signed paths name it.
type tamperer struct {
	onlooker
	*wits
}

func newTamperer(w *wits) *tamperer { return &tamperer{wits: w} }

// out implements tactic: each body that is not the node's own begins with another byte.
// Everything else is as it came, signatures included.
func (t *tamperer) out(to peer.ID, f frame) []frame {
	o, ok := t.order(scenario.Alter)
	if !ok || f.kind != wire.KindPublish {
		return []frame{f}
	}
	m, err := wire.DecodePublish(f.body)
	if err != nil || m.Origin.Peer == "" || m.Origin.Peer == string(t.self) || m.Origin.Peer == string(to) {
		return []frame{f}
	}
	m.Messages = append(wire.Messages(nil), m.Messages...)
	for rest, last := m.Messages, (wire.Message{}); len(rest) > 0; {
		last = rest.Next(last)
		word, _, _ := strings.Cut(string(last.Topic), ".")
		_, body, err := wire.DecodeHeaders(last.Content)
		if err != nil || len(body) == 0 || word != o.On {
			continue
		}
		body[0]++ // it aliases the copy
		t.acted("alters publications", 1)
	}
	f.body = m.AppendTo(nil)
	return []frame{f}
}
