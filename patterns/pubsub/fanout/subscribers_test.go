// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// everybody may listen to everything.
type everybody struct{ env.Rights }

func (everybody) MaySubscribe(peer.ID, []byte, string) bool { return true }

// leaseOf is a lease of node n, of its process and of its life as a listener.
func leaseOf(incarnation uint64, life uint16, id uint64, pattern string) *cluster.Member {
	return &cluster.Member{
		ID: env.MemberIn(life, id<<16), Peer: "n", Incarnation: incarnation,
		Payload: wire.AppendInterests(nil, []wire.Interest{{Pattern: pattern}}),
	}
}

func TestNumbersGoOnAsLongAsTheLifeOfTheListenerDoes(t *testing.T) {
	// This test shows a publisher another lease of a receiver that it had lost, or not:
	// where the node has listened all the time, numbers go on, and it is told what it
	// missed; where it has begun anew, they begin anew, in a run that is not for the
	// subscriptions of before.
	first := leaseOf(1, 0, 1, "news.a")
	for name, c := range map[string]struct {
		gone  bool
		again []*cluster.Member
		want  []Changed
		run   uint32
		next  uint64
	}{
		"the same lease":                    {true, []*cluster.Member{first}, []Changed{Returned}, wire.MakeRun(1, 0, 1), 7},
		"another lease, as patterns change": {true, []*cluster.Member{leaseOf(1, 0, 2, "news.b")}, []Changed{Returned, Altered}, wire.MakeRun(1, 0, 1), 7},
		"another lease, and no view missed": {false, []*cluster.Member{leaseOf(1, 0, 2, "news.b")}, []Changed{Altered}, wire.MakeRun(1, 0, 1), 7},
		"another life":                      {true, []*cluster.Member{leaseOf(1, 1, 2, "news.a")}, []Changed{Replaced, Came}, wire.MakeRun(1, 1, 2), 0},
		"another life, and no view missed":  {false, []*cluster.Member{leaseOf(1, 1, 2, "news.a")}, []Changed{Replaced, Came}, wire.MakeRun(1, 1, 2), 0},
		"the lease of before lingers":       {false, []*cluster.Member{first, leaseOf(1, 1, 2, "news.a")}, []Changed{Replaced, Came}, wire.MakeRun(1, 1, 2), 0},
		"lives wrap around":                 {true, []*cluster.Member{leaseOf(1, 1, 2, "news.a"), leaseOf(1, 1<<16-1, 3, "news.b")}, []Changed{Replaced, Came}, wire.MakeRun(1, 1, 2), 0},
		"another process":                   {true, []*cluster.Member{leaseOf(2, 0, 2, "news.a")}, []Changed{Replaced, Came}, wire.MakeRun(2, 0, 2), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSubscribers("self", everybody{}, &Audience{})
			sees := func(members ...*cluster.Member) (changes []Changed) {
				for _, c := range s.Refresh(1, &cluster.View{Known: true, Members: members}) {
					changes = append(changes, c.What)
				}
				return changes
			}
			require.Equal(t, []Changed{Came}, sees(first))
			s.Receivers["n"].Number = 7
			if c.gone {
				require.Equal(t, []Changed{Left}, sees())
			}
			require.Equal(t, c.want, sees(c.again...))
			r := s.Receivers["n"]
			require.Equal(t, c.run, r.Run)
			require.Equal(t, c.next, r.Number)
			require.Len(t, r.Interests, 1)
		})
	}
}

func TestAReceiverThatWasForgottenReturnsInAnotherRun(t *testing.T) {
	// This test forgets a receiver that is gone for long and sees the same lease again:
	// numbers that begin anew in the run of before would be late to it.
	s := NewSubscribers("self", everybody{}, &Audience{})
	view := func() *cluster.View {
		return &cluster.View{Known: true, Members: []*cluster.Member{leaseOf(1, 0, 1, "news.a")}}
	}
	s.Refresh(1, view())
	s.Receivers["n"].Renumber()
	before := s.Receivers["n"].Run
	s.Refresh(2, &cluster.View{Known: true})
	s.Forget(s.Receivers["n"])
	s.Refresh(3, view())
	require.Equal(t, before+1, s.Receivers["n"].Run)
}
