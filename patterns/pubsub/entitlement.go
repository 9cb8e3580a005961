// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// maxVerdicts bounds the topics whose verdict is remembered for one source; beyond it
// rights are asked again.
const maxVerdicts = 256

// entitlement is what a publisher may publish that is heard through forwarders: by the
// certificate in the newest path that it has signed. Each topic is asked about once, and
// again when rights have changed. It is a pure core.
type entitlement struct {
	certificate []byte
	version     uint64
	verdicts    map[string]bool // of the version; nil = none yet
}

// show takes in what another path shows.
func (e *entitlement) show(certificate []byte) {
	e.certificate, e.verdicts = certificate, nil
}

// lets says whether the publisher may publish all that is in a frame.
func (e *entitlement) lets(r env.Rights, publisher peer.ID, m *wire.Publish) bool {
	if v := r.Version(); e.verdicts == nil || e.version != v {
		e.version, e.verdicts = v, make(map[string]bool)
	}
	for rest := m.Messages; len(rest) > 0; {
		first, _, _ := m.Cut(&rest)
		verdict, known := e.verdicts[string(first.Topic)] // not copied
		if !known {
			topic := string(first.Topic)
			verdict = r.MayPublishBy(publisher, e.certificate, topic)
			if len(e.verdicts) >= maxVerdicts {
				clear(e.verdicts)
			}
			e.verdicts[topic] = verdict
		}
		if !verdict {
			return false
		}
	}
	return true
}
