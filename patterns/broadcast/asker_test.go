// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package broadcast_test

import (
	"context"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/request"
)

// asker reports the outcomes that it was given, one member each.
type asker struct {
	outcomes []outcome
	partial  bool // the list of members is not whole
	err      error
	seen     request.All
}

type outcome struct {
	node  peer.ID
	reply string
	err   error
}

func (a *asker) AskAll(_ context.Context, q request.All, each request.EachFunc) (t request.Tally, err error) {
	a.seen = q
	if a.err != nil {
		return t, a.err
	}
	for i, o := range a.outcomes {
		m := &cluster.Member{ID: cluster.MemberID(i + 1), Peer: o.node}
		took, stop := each(m, request.Answer{Message: patterns.Message{Body: []byte(o.reply)}, Member: m}, o.err)
		if stop != nil {
			return t, stop
		}
		if !took {
			t.Missing = append(t.Missing, missing(i+1, o.node, o.err))
		}
	}
	t.Complete = !a.partial && len(t.Missing) == 0
	return t, nil
}

func missing(id int, node peer.ID, err error) patterns.Missing {
	return patterns.Missing{Member: cluster.MemberID(id).String(), Peer: node.String(), Err: err}
}

func TestConfigIsChecked(t *testing.T) {
	// This test leaves out what is required.
	_, err := broadcast.New(broadcast.Config{})
	require.ErrorContains(t, err, "broadcast: ")
}
