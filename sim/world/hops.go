// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/sim/history"
)

// networkOf is the network that the machine of a gateway is in; "" if it is a node's.
func networkOf(machine string) string {
	_, network, _ := strings.Cut(machine, side)
	return network
}

// hops looks in what one machine sends another for what gateways get and send; nil if
// neither of the two is a gateway's.
func (s *bridges) hops(from, to string, note func(history.Hop)) func(at time.Duration, body []byte) {
	network := cmp.Or(networkOf(from), networkOf(to))
	if network == "" {
		return nil
	}
	return func(at time.Duration, body []byte) {
		id, passed, ok := requestOf(body)
		if !ok {
			return
		}
		h := history.Hop{Request: id, From: ownerOf(from), To: ownerOf(to), At: at, Network: network}
		for _, p := range passed {
			h.Passed = append(h.Passed, s.called(p))
		}
		note(h)
	}
}

// called is what gateways call a network of that id.
func (s *bridges) called(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, known := s.names[id]; known {
		return name
	}
	return fmt.Sprintf("%x", id)
}

// requestOf is the id in the first bytes of what is asked, if it can be read, and the ids
// of the networks that it is said to have come through.
func requestOf(body []byte) (id uint64, passed []string, ok bool) {
	m, err := wire.DecodeRequest(body)
	if err != nil || m.Flags&wire.FlagSealed != 0 {
		return 0, nil, false
	}
	if m.Origin != nil {
		passed = m.Origin.Networks
	}
	_, text, err := wire.SplitTail(m.Tail)
	if err != nil || len(text) < 8 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(text), passed, true
}
