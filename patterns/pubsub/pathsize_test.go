// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// A publisher whose group has 5,000 subscribing nodes sends a message to sixteen of them, each
// of which is told once who is behind it: so many bytes, with two addresses and one pattern a
// node. The next message tells nothing.
func TestPathsOfFiveThousandNodes(t *testing.T) {
	const nodes = 5000
	s := newStage(t, nil)
	payload := wire.AppendInterests(nil, []wire.Interest{{Pattern: "news.>"}})
	var members []*cluster.Member
	for i := range nodes {
		p := peerOf(fmt.Sprint("node", i))
		s.links[p] = &fake.Link{With: p, Life: 1, Room: -1}
		members = append(members, &cluster.Member{
			ID: cluster.MemberID(i + 1), Peer: p, Incarnation: 1, Payload: payload,
			Addrs: []string{fmt.Sprintf("/ip4/10.1.%d.%d/tcp/7117", i/250, i%250), fmt.Sprintf("/ip4/192.168.%d.%d/tcp/7117", i/250, i%250)},
		})
	}
	s.view.show(cluster.View{Known: true, Complete: true, Members: members})

	s.say(t, "one")
	heads, all, most := s.paths()
	t.Logf("%d heads are told %d bytes, at most %d each; %d bytes a node", heads, all, most, all/nodes)
	require.Equal(t, env.FanOut, heads)
	require.Less(t, all/nodes, 150)
	require.Less(t, most, nodes/env.FanOut*150)

	s.say(t, "two")
	_, again, _ := s.paths()
	require.Equal(t, all, again, "who is behind a head is said once")
}

// paths says how many nodes have been told a path, and how many bytes that took.
func (s *stage) paths() (heads, all, most int) {
	for _, l := range s.links {
		if l.Paths > 0 {
			heads++
			all += l.Paths
			most = max(most, l.Paths)
		}
	}
	return heads, all, most
}
