// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// stage is an engine that publishes to nodes which the test plays: their links
// are taped, and all stand.
type stage struct {
	*lone
	nobody
	links map[peer.ID]*fake.Link
	view  registrations
	p     *publisher
}

func newStage(t testing.TB, interests [][]wire.Interest) *stage {
	s := &stage{lone: newLone(t), links: make(map[peer.ID]*fake.Link)}
	var members []*cluster.Member
	for i, is := range interests {
		p := peer.ID(fmt.Sprintf("n%02d", i))
		s.links[p] = &fake.Link{With: p, Life: 1, Room: -1}
		members = append(members, &cluster.Member{
			ID: cluster.MemberID(i + 1), Peer: p, Incarnation: 1, Payload: wire.AppendInterests(nil, is),
		})
	}
	s.lone.links = s.links
	s.view.show(cluster.View{Known: true, Complete: true, Members: members})
	s.base.Cfg.Directory = s
	s.p = s.publishers.use("news", false)
	return s
}

// staged runs f with such an engine, in virtual time, to which nodes with these interests
// listen.
func staged(t *testing.T, interests [][]wire.Interest, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newStage(t, interests)) })
}

// Watch shows who listens to the group, and that nobody does to others.
func (s *stage) Watch(name string) env.Watch {
	if name == env.ClusterOf("news") {
		return s.view.Watch(name)
	}
	return empty{}
}

// everybody is n nodes that listen to the same.
func everybody(n int) [][]wire.Interest { return slices.Repeat(wants("news.>"), n) }

// wants is a node for each pattern.
func wants(patterns ...string) (out [][]wire.Interest) {
	for _, p := range patterns {
		out = append(out, []wire.Interest{{Pattern: p}})
	}
	return out
}

// say publishes on news.a, says on any topic.
func (s *stage) say(t testing.TB, text string) {
	t.Helper()
	s.says(t, "news.a", text)
}

func (s *stage) says(t testing.TB, topic, text string) {
	t.Helper()
	require.NoError(t, s.Publish(t.Context(), topic, patterns.Message{Body: []byte(text)}, patterns.PublishOptions{}))
}

func (s *stage) happens(e overlay.PeerEventType, p peer.ID) {
	s.handlePeerEvent(overlay.PeerEvent{Type: e, Peer: p, Session: 1, Err: overlay.ErrLost})
}

// said is what each node was sent since the last call, of those that were sent
// something.
func (s *stage) said() map[peer.ID]string {
	out := make(map[peer.ID]string)
	for p, l := range s.links {
		if said := l.Said(); len(said) > 0 {
			out[p] = strings.Join(said, ", ")
		}
	}
	return out
}

// leader returns a head with somebody behind it, and that one.
func (s *stage) leader() (head, stop *fanout.Receiver) {
	for _, b := range s.p.Tree.Branches {
		if b.Forwards() {
			return b.Head, b.Stops[0]
		}
	}
	return nil, nil
}

func TestFewReceiversAreReachedDirectlyAndNumberedEach(t *testing.T) {
	// This test publishes to two nodes that want different topics: each gets
	// what it wants, with its own numbers.
	staged(t, wants("news.>", "news.b"), func(t *testing.T, s *stage) {
		s.say(t, "one")
		s.says(t, "news.b", "two")
		require.Equal(t, map[peer.ID]string{"n00": "one #1, two #2", "n01": "two #1"}, s.said())
	})
}

func TestAHeadThatIsLostHasAStandIn(t *testing.T) {
	// This test has 18 nodes listen, so that there is a tree, and breaks the link
	// to a head with somebody behind it: that one is told by nobody but a path of
	// its own, the others notice nothing. The head is still sent what is for it.
	staged(t, everybody(18), func(t *testing.T, s *stage) {
		s.say(t, "one")
		require.Len(t, s.said(), env.FanOut)
		head, stop := s.leader()
		s.links[head.Peer].Silent.Store(true)
		s.happens(overlay.LinkSuspect, head.Peer)
		require.Equal(t, map[peer.ID]string{stop.Peer: "mark #1"}, s.said(), "it may lack what the head had")
		s.say(t, "two")
		said := s.said()
		require.Equal(t, "two #2", said[head.Peer])
		require.Equal(t, "two #2", said[stop.Peer])
		require.Len(t, said, env.FanOut+1)
		require.EqualValues(t, 1, s.Status().Trees)

		s.links[head.Peer].Silent.Store(false)
		s.happens(overlay.LinkRecovered, head.Peer)
		time.Sleep(env.RebuildTime)
		s.say(t, "three")
		require.Len(t, s.said(), env.FanOut)
		require.EqualValues(t, 2, s.Status().Trees)
	})
}

func TestAForwarderThatCannotReachANodeGetsAnotherPath(t *testing.T) {
	// This test has a head complain that a node behind it is not reached: there is
	// a new path to the same nodes, once, with what they have been sent.
	staged(t, everybody(3*env.FanOut), func(t *testing.T, s *stage) {
		s.say(t, "one")
		head, stop := s.leader()
		b := head.Branch
		s.said()
		m := wire.PathLost{Session: s.p.Session, Epoch: b.Epoch, Peer: string(stop.Peer)}
		s.comes(string(head.Peer), wire.KindPathLost, m.AppendTo(nil))
		s.comes(string(head.Peer), wire.KindPathLost, m.AppendTo(nil))
		said := s.said()
		require.Len(t, said, 1)
		for _, text := range said {
			require.Equal(t, fmt.Sprintf("path %d to 2 #1", s.p.Tree.Epoch), text)
		}
		require.Equal(t, -1, stop.Branch.Head.Index)
		require.NotEqual(t, stop, stop.Branch.Head)
	})
}

func TestWhatASessionHadIsToldWithTheNextOne(t *testing.T) {
	// This test ends the session of a link: when there is another one, the node
	// is told how much it was sent, and the link is dialled until then.
	staged(t, everybody(1), func(t *testing.T, s *stage) {
		s.say(t, "one")
		link := s.links["n00"]
		link.Life = 0
		s.happens(overlay.LinkDown, "n00")
		s.said()
		for range 3 {
			time.Sleep(2 * env.RedialTime)
			s.happens(overlay.DialFailed, "n00")
		}
		require.GreaterOrEqual(t, link.Dials, 3)
		s.say(t, "two")
		require.Empty(t, s.said())
		link.Life = 2
		s.handlePeerEvent(overlay.PeerEvent{Type: overlay.LinkUp, Peer: "n00", Session: 2})
		require.Equal(t, map[peer.ID]string{"n00": "two #2, mark #2"}, s.said())
		s.say(t, "three")
		require.Equal(t, map[peer.ID]string{"n00": "three #3"}, s.said())
	})
}

func TestASuspectNodeHoldsUpNobody(t *testing.T) {
	// This test publishes to a node without room: the publisher waits, until the
	// node is suspect. It is told its numbers when it is back.
	staged(t, everybody(2), func(t *testing.T, s *stage) {
		s.say(t, "one")
		link := s.links["n00"]
		link.Room = 0
		begun := time.Now()
		time.AfterFunc(time.Second, func() {
			link.Silent.Store(true)
			s.happens(overlay.LinkSuspect, "n00")
		})
		s.say(t, "two")
		require.Equal(t, time.Second, time.Since(begun))
		s.say(t, "three")
		require.Equal(t, time.Second, time.Since(begun))
		require.NoError(t, s.TryPublish("news.a", patterns.Message{Body: []byte("four")}, patterns.PublishOptions{}))
		require.Equal(t, "one #1", s.said()["n00"])
		link.Silent.Store(false)
		link.Room = -1
		s.happens(overlay.LinkRecovered, "n00")
		require.Equal(t, "mark #4", s.said()["n00"])
	})
}

func TestAMemberOfAQueueWithoutRoomHoldsNobodyUp(t *testing.T) {
	// This test has two nodes share a queue, one of which has no room: the other
	// gets everything, at once, and TryPublish blocks only if neither has room.
	staged(t, slices.Repeat(member, 2), func(t *testing.T, s *stage) {
		s.say(t, "first")
		s.said()
		s.links["n00"].Room = 0
		begun := time.Now()
		for i := range 20 {
			s.say(t, fmt.Sprint(i))
		}
		require.Zero(t, time.Since(begun))
		require.Len(t, s.links["n01"].Said(), 20)
		try := func() error {
			return s.TryPublish("news.a", patterns.Message{}, patterns.PublishOptions{})
		}
		require.NoError(t, try())
		s.links["n01"].Room = 0
		require.ErrorIs(t, try(), patterns.ErrWouldBlock)
	})
}

// member is a node that shares a queue with others.
var member = [][]wire.Interest{{{Pattern: "news.>", Queue: "q", Weight: 1}}}

// toAll returns a function that publishes a message of 1,000 bytes to nodes with these
// interests, whose links take everything.
func toAll(t testing.TB, interests [][]wire.Interest) (publish func()) {
	s := newStage(t, interests)
	for p := range s.links {
		s.lone.quick[p] = &fake.QuickLink{Link: fake.Link{With: p}}
	}
	m := patterns.Message{Body: make([]byte, 1000)}
	return func() {
		if err := s.Publish(t.Context(), "news.a", m, patterns.PublishOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPublishingToManyCostsFewAllocations(t *testing.T) {
	// This test counts what one message costs before the links, to sixteen nodes
	// directly and to 60 through a tree: each is given the same bytes.
	if raced.Enabled {
		t.Skip("the race detector allocates")
	}
	for n, most := range map[int]float64{1: 0, 16: 0, 60: 0} {
		publish := toAll(t, everybody(n))
		publish()
		require.LessOrEqual(t, testing.AllocsPerRun(100, publish), most, "%d receivers", n)
	}
}

// BenchmarkPublish measures a message of 1,000 bytes before the links, to so many
// nodes.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 16, 60} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { repeats(b, toAll(b, everybody(n))) })
	}
}

// BenchmarkPublishSigned does the same where somebody asks for signatures: one is made for
// each message, however many nodes it is for, on the goroutine of who publishes.
func BenchmarkPublishSigned(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			repeats(b, toAll(b, slices.Repeat([][]wire.Interest{{{Pattern: "news.>", Signed: true}}}, n)))
		})
	}
}

// BenchmarkReceive measures a message of 1,000 bytes from the link to the inbox.
func BenchmarkReceive(b *testing.B) {
	l := newLone(b)
	l.ignores(b, patterns.SubscribeOptions{})
	m := single{Publish: wire.Publish{Session: 1, Run: run1}, Topic: "news.a", Body: make([]byte, 1000)}
	body := m.frame()
	repeats(b, func() {
		m.Number++
		m.AppendHead(body[:0])
		l.comes("p", wire.KindPublish, body)
	})
}

// repeats measures f.
func repeats(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

func TestNobodyListensIsLookedAtEachTime(t *testing.T) {
	// This test publishes to a node that listens, and goes out of sight: it is sent what
	// comes. When it is known that nobody listens, that is published, too. When that is
	// unknown again later, the publisher hears so, though it knew once.
	staged(t, everybody(1), func(t *testing.T, s *stage) {
		publish := func() error {
			return s.Publish(t.Context(), "news.a", patterns.Message{Body: []byte("x")}, patterns.PublishOptions{})
		}
		require.NoError(t, publish())
		s.view.show(cluster.View{})
		require.NoError(t, publish())
		require.NoError(t, s.TryPublish("news.a", patterns.Message{Body: []byte("x")}, patterns.PublishOptions{}))
		require.Len(t, s.links["n00"].Said(), 3)
		s.view.show(nobodyThere)
		require.NoError(t, publish())
		s.links["n00"].Said() // one that has just gone may still be sent it
		s.view.show(cluster.View{})
		require.ErrorIs(t, publish(), patterns.ErrUnreachable)
		require.ErrorIs(t, s.TryPublish("news.a", patterns.Message{Body: []byte("x")}, patterns.PublishOptions{}), patterns.ErrWouldBlock)
		require.Empty(t, s.links["n00"].Said())
	})
}
