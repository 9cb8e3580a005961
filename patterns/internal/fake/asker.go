// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// Asker reports the outcomes that it was given, one member each.
type Asker struct {
	request.Asker // nil: nobody is asked alone

	Outcomes []Member
	Partial  bool        // the list of members is not whole
	Err      error       // of AskAll; then nobody is asked
	Seen     request.All // what was asked last
}

// Member is what became of one member's copy.
type Member struct {
	Node  peer.ID
	Reply string
	Err   error
}

// AskAll does what the one of request.Engine does.
func (a *Asker) AskAll(_ context.Context, q request.All, each request.EachFunc) (t request.Tally, err error) {
	a.Seen = q
	if a.Err != nil {
		return t, a.Err
	}
	nodes := map[peer.ID]bool{}
	for i, o := range a.Outcomes {
		m := &cluster.Member{ID: cluster.MemberID(i + 1), Peer: o.Node}
		took, stop := each(m, request.Answer{Message: patterns.Message{Body: []byte(o.Reply)}, Member: m}, o.Err)
		if stop != nil {
			return t, stop
		}
		if !took {
			t.Missing = append(t.Missing, Missing(i+1, o.Node, o.Err))
			continue
		}
		nodes[o.Node] = true
		t.Members, t.Nodes = t.Members+1, len(nodes)
	}
	t.Complete = !a.Partial && len(t.Missing) == 0
	return t, nil
}

// Missing is how a result names the id-th member on a node, counted from 1.
func Missing(id int, node peer.ID, err error) patterns.Missing {
	return patterns.Missing{Member: cluster.MemberID(id).String(), Peer: node.String(), Err: err}
}
