// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/arke-mesh/arke/security"
)

// NetworkID is the permanent id of a network.
type NetworkID = security.NetworkID

// Transit says whom a gateway may ask in a network for a message that comes from another
// one, so that nothing goes round.
type Transit struct {
	// Origin is the network whose members are meant. The zero id means the network in
	// which is asked: its own members.
	Origin security.NetworkID
	// Passed are the networks that the message has come through. Nobody is asked who was
	// lent through one of them.
	Passed []security.NetworkID
}

// Permits says whether m may be asked. nil permits everybody.
func (t *Transit) Permits(m *Member) bool {
	if t == nil {
		return true
	}
	if t.Origin == (security.NetworkID{}) {
		return !m.Imported
	}
	return m.Imported && originOf(m).id == t.Origin && !slices.ContainsFunc(m.Networks, func(id security.NetworkID) bool {
		return slices.Contains(t.Passed, id)
	})
}

// origin tells networks apart: by their ids, or by names where a member has none.
type origin struct {
	id   security.NetworkID
	name string
}

func originOf(m *Member) origin {
	if len(m.Networks) > 0 {
		return origin{id: m.Networks[0]}
	}
	return origin{name: m.Network}
}

// networks are those that a lent member has come through, its own first.
type networks []security.NetworkID

func (n networks) encode() (out [][]byte) {
	for i := range n {
		out = append(out, n[i][:])
	}
	return out
}

// decodeNetworks reads what encode wrote and wire has checked.
func decodeNetworks(ids [][]byte) (out networks) {
	for _, id := range ids {
		out = append(out, security.NetworkID(id))
	}
	return out
}
