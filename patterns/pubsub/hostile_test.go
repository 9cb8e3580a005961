// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"fmt"
	"math"
	"slices"
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
	"github.com/arke-mesh/arke/security"
)

// lone is an engine whose links lead nowhere: the test plays the peers.
type lone struct {
	*Engine
	handlers map[wire.Kind]func(env.Link, []byte) bool
	links    map[peer.ID]*fake.Link      // to others, it is never up
	quick    map[peer.ID]*fake.QuickLink // in place of those
	trip     time.Duration               // the longest
}

func newLone(t testing.TB) *lone {
	l := &lone{handlers: make(map[wire.Kind]func(env.Link, []byte) bool), quick: make(map[peer.ID]*fake.QuickLink)}
	workers := overlay.NewWorkers(16)
	network := derived(t)
	e, err := New(env.Config{
		Links: l, Directory: nobody{}, Clock: overlay.NewRealClock(), Rand: overlay.NewRealRand(), Exec: workers, Incarnation: 1,
		Key: keyOf("self"), Network: loneNetwork,
		Keys: func(name string) *security.Cluster {
			if name == "topic:sealed" {
				return sealedKeys()
			}
			return network.Cluster(name)
		},
	})
	require.NoError(t, err)
	l.Engine = e
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.NoError(t, workers.Close())
	})
	return l
}

// alone runs f with such an engine, in virtual time: what waits only so long
// does not end because the machine is busy.
func alone(t *testing.T, f func(t *testing.T, l *lone)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newLone(t)) })
}

// derived is a network whose keys nobody set.
func derived(t testing.TB) *security.Network {
	f, err := security.GenerateNetworkFile("lone", overlay.NewRealRand().Stream("test"))
	require.NoError(t, err)
	n, err := security.NewNetwork(f)
	require.NoError(t, err)
	return n
}

func (l *lone) Self() peer.ID { return "self" }
func (l *lone) Link(p peer.ID) env.Link {
	if link := l.quick[p]; link != nil {
		return link
	}
	if link := l.links[p]; link != nil {
		return link
	}
	return deadLink{p}
}
func (l *lone) Handle(k wire.Kind, h func(env.Link, []byte) bool) { l.handlers[k] = h }
func (l *lone) Subscribe(func(overlay.PeerEvent))                 {}
func (l *lone) LongestTrip() (time.Duration, bool)                { return l.trip, true }
func (l *lone) comes(from string, k wire.Kind, body []byte) (kept bool) {
	return l.handlers[k](deadLink{peer.ID(from)}, body)
}
func (l *lone) dropped(r env.DropReason) uint64 { return l.Drops()[r.String()] }

// run1 is the first run for this node as it is now.
var run1 = wire.MakeRun(1, 0, 1)

// single is a frame with one message.
type single struct {
	wire.Publish
	Topic   string
	Picks   []wire.Pick
	Headers []wire.Header
	Body    []byte
}

func (s single) frame() []byte {
	s.Messages = nil
	return append(s.AppendTo(nil), oneMessage(s.Topic, s.Picks, s.Headers, s.Body)...)
}

// oneMessage is a message as it is in a frame.
func oneMessage(topic string, picks []wire.Pick, hs []wire.Header, body []byte) []byte {
	tail := append(wire.AppendHeaders(nil, hs), body...)
	return append(wire.AppendMessage(nil, topic, picks, len(tail)), tail...)
}

func (l *lone) publish(from string, m single) { l.comes(from, wire.KindPublish, m.frame()) }

func (l *lone) marks(from string, m wire.PublishMark) {
	l.comes(from, wire.KindPublishMark, m.AppendTo(nil))
}

func (l *lone) shows(from string, p *wire.Path) { l.comes(from, wire.KindPath, p.AppendTo(nil)) }

// path has the engine told a path to one node.
func (l *lone) path(from string, session uint64, flags uint8) {
	l.shows(from, &wire.Path{Session: session, Epoch: 1, Group: "news", Flags: flags, Stops: []wire.Stop{{Peer: "a", Run: run1}}})
}

// listens has the engine listen to patterns.
func (l *lone) listens(t testing.TB, patternList ...string) catcher {
	t.Helper()
	got := make(catcher, 100)
	for _, pattern := range patternList {
		_, err := l.Engine.Subscribe(t.Context(), pattern, got, patterns.SubscribeOptions{})
		require.NoError(t, err)
	}
	return got
}

// ignores has it listen to the news, and do nothing with them.
func (l *lone) ignores(t testing.TB, o patterns.SubscribeOptions) {
	t.Helper()
	_, err := l.Engine.Subscribe(t.Context(), "news.>", patterns.SubscriberFunc(func(patterns.Publication) {}), o)
	require.NoError(t, err)
}

// deadLink is never up.
type deadLink struct{ p peer.ID }

func (d deadLink) Peer() peer.ID                          { return d.p }
func (d deadLink) Session() uint64                        { return 0 }
func (d deadLink) Suspect() bool                          { return false }
func (d deadLink) Open([]string)                          {}
func (d deadLink) Hold() func()                           { return func() {} }
func (d deadLink) HasRoom(overlay.Lane, int) bool         { return false }
func (d deadLink) Extend(overlay.Receipt, ...[]byte) bool { return false }
func (d deadLink) Send(overlay.Lane, wire.Kind, ...[]byte) (overlay.Receipt, error) {
	return overlay.Receipt{}, overlay.ErrLinkDown
}

func (d deadLink) WaitRoom(context.Context, overlay.Lane, int) (func(), error) {
	return nil, overlay.ErrLinkDown
}

// nobody is a directory in which everything is acknowledged and nobody is.
type nobody struct{}

func (nobody) Register(context.Context, string, cluster.Registration) error { return nil }
func (nobody) Unregister(string, cluster.MemberID)                          {}
func (nobody) Live(*cluster.Member) bool                                    { return true }
func (nobody) Watch(string) env.Watch                                       { return empty{} }

type empty struct{}

var nobodyThere = cluster.View{Known: true, Empty: true, Complete: true}

func (empty) View() *cluster.View { return &nobodyThere }
func (empty) Release()            {}

func (empty) Next(ctx context.Context, _ *cluster.View) (*cluster.View, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (empty) Wait(context.Context, bool) (*cluster.View, error) { return nil, cluster.ErrNoMembers }

// catcher keeps what it gets.
type catcher chan string

func (c catcher) ServePublication(p patterns.Publication) { c <- p.Topic + " " + string(p.Body) }
func (c catcher) ServeGap(g patterns.Gap)                 { c <- fmt.Sprint("gap ", g.Missed) }

func (c catcher) next(t testing.TB) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(5 * time.Second):
		t.Fatal("nothing comes")
		return ""
	}
}

func TestWhatPeersSendIsJudgedAndCounted(t *testing.T) {
	// This test plays peers that send what is no message, is not sealed, comes
	// twice, or goes beyond a limit: each is counted by its name, and what is
	// good still arrives.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "news.>", "sealed.>")
		for k := range l.handlers {
			l.comes("p", k, []byte("?"))
		}
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.*"})
		require.EqualValues(t, len(l.handlers)+1, l.dropped(env.DropMalformed))

		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.a", Body: []byte("1")})
		require.Equal(t, "news.a 1", got.next(t))
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.a", Body: []byte("again")})
		require.EqualValues(t, 1, l.dropped(env.DropLate))

		l.publish("p", single{Publish: wire.Publish{Session: 2, Run: run1, Number: 1}, Topic: "sealed.a", Body: []byte("in clear")})
		l.publish("p", single{Publish: wire.Publish{Session: 2, Run: run1, Number: 2, Flags: wire.FlagSealed}, Topic: "sealed.a", Body: make([]byte, 200)})
		l.publish("p", single{Publish: wire.Publish{Session: 2, Run: run1, Number: 3, Flags: wire.FlagSealed}, Topic: "sealed.a", Body: []byte("short")})
		require.EqualValues(t, 3, l.dropped(env.DropUnauthorized))

		l.publish("p", single{Publish: wire.Publish{Session: 3, Run: run1, Number: 1, Epoch: 7}, Topic: "news.a", Body: []byte("2")})
		require.EqualValues(t, 1, l.dropped(env.DropNoPath), "it can't be passed on")
		require.Equal(t, "news.a 2", got.next(t))

		before := wire.MakeRun(0, 0, 1)
		l.publish("p", single{Publish: wire.Publish{Session: 5, Run: before, Number: 9}, Topic: "news.a", Body: []byte("for an earlier life")})
		l.marks("p", wire.PublishMark{Session: 5, Run: before, Number: 9, Group: "news"})
		require.EqualValues(t, 2, l.dropped(env.DropEarlier))

		// So much waits behind a hole, and not more.
		for n := range uint64(env.MaxHeld + 1) {
			l.publish("q", single{Publish: wire.Publish{Session: 4, Run: run1, Number: n + 2}, Topic: "other.a"})
		}
		require.EqualValues(t, 1, l.dropped(env.DropGap))
	})
}

func TestStreamsAndPathsAreBounded(t *testing.T) {
	// This test has one publisher too many, one path too many, and a path to
	// more nodes than a forwarder takes.
	alone(t, func(t *testing.T, l *lone) {
		for n := range uint64(env.MaxStreams) {
			l.publish("p", single{Publish: wire.Publish{Session: n, Run: run1, Number: 1}, Topic: "news.a"})
		}
		require.Zero(t, l.dropped(env.DropStreams))
		l.publish("p", single{Publish: wire.Publish{Session: env.MaxStreams, Run: run1, Number: 1}, Topic: "news.a"})
		require.EqualValues(t, 1, l.dropped(env.DropStreams))

		for n := range uint64(env.MaxForwarded) {
			l.path("p", n, 0)
		}
		require.Zero(t, l.dropped(env.DropPath))
		l.path("p", env.MaxForwarded, 0)
		require.EqualValues(t, 1, l.dropped(env.DropPath))

		p := wire.Path{Session: 1, Epoch: 2, Group: "news", Flags: wire.FlagMore}
		for part := range env.MaxStops/1024 + 1 {
			p.Stops = nil
			for i := range 1024 {
				p.Stops = append(p.Stops, wire.Stop{Peer: fmt.Sprint(part, " ", i), Run: run1})
			}
			l.shows("p", &p)
		}
		require.EqualValues(t, 2, l.dropped(env.DropPath))
	})
}

func TestWhoBringsMostGivesWay(t *testing.T) {
	// This test has one peer publish in so many sessions, and be told so many paths, that
	// no more are remembered: others are heard and passed on nevertheless, one of that peer
	// goes for each, and it has no more itself. What is remembered of the sealed messages
	// of others that were forgotten stays.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "news.>")
		for n := range uint64(env.MaxStreams) {
			l.publish("hoarder", single{Publish: wire.Publish{Session: n, Run: run1, Number: 1}, Topic: "other.a"})
		}
		l.publish("honest", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.a", Body: []byte("one")})
		require.Equal(t, "news.a one", got.next(t))
		require.EqualValues(t, 1, l.dropped(env.DropYielded))
		require.Zero(t, l.dropped(env.DropStreams))
		l.publish("hoarder", single{Publish: wire.Publish{Session: env.MaxStreams, Run: run1, Number: 1}, Topic: "news.a"})
		l.publish("hoarder", single{Publish: wire.Publish{Session: env.MaxStreams + 1, Run: run1, Number: 1}, Topic: "news.a"})
		require.EqualValues(t, 2, l.dropped(env.DropStreams), "it has as many as anybody")
		l.publish("honest", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 2}, Topic: "news.a", Body: []byte("two")})
		require.Equal(t, "news.a two", got.next(t))

		for n := range uint64(env.MaxForwarded) {
			l.path("hoarder", n, 0)
			l.path("hoarder", env.MaxForwarded+n, wire.FlagMore)
		}
		yielded := l.dropped(env.DropYielded)
		l.path("honest", 1, 0)
		l.path("honest", 2, wire.FlagMore)
		require.NotNil(t, l.paths.find(sourceKey{"honest", 1}, 1))
		require.Equal(t, yielded+2, l.dropped(env.DropYielded))
		require.Zero(t, l.dropped(env.DropPath))
		l.path("hoarder", 3*env.MaxForwarded, 0)
		require.EqualValues(t, 1, l.dropped(env.DropPath))
		require.Equal(t, 2*env.MaxForwarded, l.Status().Paths)

		silent := func(by peer.ID, session uint64) {
			s := &source{of: l.sources, key: sourceKey{by, session}, bearer: bearer{by: by}}
			s.seals.Raise(7)
			l.sources.bury(s)
		}
		l.sources.mu.Lock()
		silent("honest", 9)
		for n := range uint64(env.MaxStreams + 10) {
			silent("hoarder", n)
		}
		m, _ := l.sources.former.Get(sourceKey{"honest", 9})
		l.sources.mu.Unlock()
		require.EqualValues(t, 7, m.seal)
	})
}

func TestAFullTableOfStreamsIsLookedThroughOnceASecond(t *testing.T) {
	// This test has a peer begin more sessions than are remembered: that costs a look at
	// all of them now and then, not for each message.
	alone(t, func(t *testing.T, l *lone) {
		begins := func(session uint64) {
			l.publish("p", single{Publish: wire.Publish{Session: session, Run: run1, Number: 1}, Topic: "news.a"})
		}
		for n := range uint64(env.MaxStreams + 1) {
			begins(n)
		}
		require.Equal(t, env.MaxStreams, l.sources.count())
		for _, s := range l.sources.all.All() {
			s.last -= int64(time.Minute)
		}
		begins(env.MaxStreams)
		require.Equal(t, env.MaxStreams, l.sources.count(), "it was looked through a moment ago")
		time.Sleep(time.Second)
		begins(env.MaxStreams)
		begins(env.MaxStreams)
		require.Equal(t, 1, l.sources.count())
	})
}

func TestAPathWhoseRoomWentToAnotherIsDropped(t *testing.T) {
	// This test fills the table of paths between the moments when room is made for one and
	// when it is to be used: the path is refused, and nothing of it stays.
	alone(t, func(t *testing.T, l *lone) {
		for n := range uint64(env.MaxForwarded) {
			l.path("p", n, 0)
		}
		_, ok := l.paths.use(sourceKey{"p", env.MaxForwarded}, "p", &path{})
		require.False(t, ok)
		require.Nil(t, l.paths.find(sourceKey{"p", env.MaxForwarded}, 0))
	})
}

func TestCountsThatWouldOverflowAreRefused(t *testing.T) {
	// This test says that more was published than can be counted, where the sum
	// with one would be 0 again: the hole had no end, and filled the memory. The
	// most that may be said is a gap like any other.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "news.>")
		for _, number := range []uint64{math.MaxUint64, wire.MaxNumber + 1} {
			l.marks("p", wire.PublishMark{Session: 1, Run: run1, Number: number, Group: "news"})
			l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: number}, Topic: "news.a"})
			l.shows("p", &wire.Path{Session: 1, Run: run1, Number: number, Epoch: 1, Group: "news"})
		}
		require.EqualValues(t, 6, l.dropped(env.DropMalformed))
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: wire.MaxNumber}, Topic: "news.a", Body: []byte("last")})
		require.Equal(t, fmt.Sprint("gap ", wire.MaxNumber-1), got.next(t))
		require.Equal(t, "news.a last", got.next(t))
	})
}

func TestNobodyCanSayThatMoreIsMissingInTheRootGroupThanCanBe(t *testing.T) {
	// This test has a publisher tell a forwarder of the root group that it has
	// published more than anybody can have: the forwarder's own count, which is
	// for all publishers, goes on by a little of that.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, ">")
		l.marks("p", wire.PublishMark{Session: 1, Run: run1, Number: wire.MaxNumber, Group: env.RootForwards})
		require.Equal(t, fmt.Sprint("gap ", env.MaxRelayedGap), got.next(t))
	})
}

func TestAPathThatIsToldAnewBeginsAnew(t *testing.T) {
	// This test tells the first part of a path twice, as a sender does that had
	// no room for the second: each stop is there once.
	alone(t, func(t *testing.T, l *lone) {
		part := func(flags uint8, stops ...string) {
			p := wire.Path{Session: 1, Epoch: 1, Group: "news", Flags: flags}
			for _, s := range stops {
				p.Stops = append(p.Stops, wire.Stop{Peer: s, Run: run1})
			}
			l.shows("p", &p)
		}
		part(wire.FlagMore, "a", "b")
		part(wire.FlagMore, "b", "c") // a has left meanwhile
		part(0, "d")
		var stops []string
		for _, r := range l.paths.find(sourceKey{"p", 1}, 1).stops {
			stops = append(stops, string(r.Peer))
		}
		require.Equal(t, []string{"b", "c", "d"}, stops)
	})
}

func TestAPathThatNeverBecomesWholeIsForgotten(t *testing.T) {
	// This test begins paths whose sources are gone before the end of them, and
	// one that is whole: both are forgotten when they have not been used for long.
	alone(t, func(t *testing.T, l *lone) {
		for session := range uint64(env.MaxForwarded) {
			flags := wire.FlagMore
			if session == 0 {
				flags = 0
			}
			l.path("p", session, flags)
		}
		require.Equal(t, env.MaxForwarded, l.Status().Paths)
		time.Sleep(env.StreamTime + 2*env.SweepTime)
		require.Zero(t, l.Status().Paths)
	})
}

func TestQueuesThatDoNotFitTheLeaseAreRefused(t *testing.T) {
	// This test fills a lease with queues, which have no coarser form.
	alone(t, func(t *testing.T, l *lone) {
		got := make(catcher, 100)
		var err error
		count := 0
		for ; err == nil && count < 10_000; count++ {
			_, err = l.Engine.Subscribe(t.Context(), fmt.Sprintf("work.%04d", count), got, patterns.SubscribeOptions{Queue: "q"})
		}
		require.ErrorIs(t, err, patterns.ErrTooMany)
		require.EqualValues(t, 1, l.dropped(env.DropSubscriptions))
		require.Greater(t, count, 300)
		_, err = l.Engine.Subscribe(t.Context(), "work.x", got, patterns.SubscribeOptions{})
		require.NoError(t, err, "without a queue there is room")
		_, err = l.Engine.Subscribe(t.Context(), "other.x", got, patterns.SubscribeOptions{Queue: "q"})
		require.NoError(t, err, "in another group, too")
	})
}

func TestPublishingAndReceivingCostFewAllocations(t *testing.T) {
	// This test counts what one message costs, without the link.
	if raced.Enabled {
		t.Skip("the race detector allocates")
	}
	l := newLone(t)
	m := patterns.Message{Body: make([]byte, 100)}
	require.NoError(t, l.Publish(t.Context(), "news.a", m, patterns.PublishOptions{}))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		if err := l.Publish(t.Context(), "news.a", m, patterns.PublishOptions{}); err != nil {
			t.Fatal(err)
		}
	}), 0.0)
	n, from := uint64(0), env.Link(deadLink{"p"})
	body := single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.a", Body: m.Body}.frame()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		n++
		head := wire.Publish{Session: 1, Run: run1, Number: n}
		head.AppendHead(body[:0])
		l.handlers[wire.KindPublish](from, body)
	}), 0.0)
	require.Zero(t, l.dropped(env.DropLate))

	// For a subscription there is one list; the frame itself is kept.
	l.ignores(t, patterns.SubscribeOptions{})
	body = severalOf(wire.Publish{Session: 2, Run: run1}, "news.a", slices.Repeat([]string{"a message"}, 20)...)
	n = 1
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		head := wire.Publish{Session: 2, Run: run1, Number: n}
		head.AppendHead(body[:0])
		l.handlers[wire.KindPublish](from, body)
		n += 20
	}), 5.0, "with those of the worker that calls it")
	require.Zero(t, l.dropped(env.DropLate))
}

// This test checks that what is missing is waited for as long as the longest round trip
// asks for, also if that was measured after the publisher was first heard.
func TestAHoleIsWaitedForLongerOverLongWays(t *testing.T) {
	alone(t, func(t *testing.T, l *lone) {
		got, pub := l.listens(t, "news.>"), author("pub")
		true1 := string(peerOf("pub"))
		number := uint32(0)
		says := func(n uint32) { pub.comes(l, true1, 1, uint64(n), fmt.Sprint(n)) }
		for trip, wait := range map[time.Duration]time.Duration{
			0: env.HoleTime, 200 * time.Millisecond: env.HoleTime, 800 * time.Millisecond: 1600 * time.Millisecond,
		} {
			l.trip = trip
			number++
			says(number)
			require.Equal(t, fmt.Sprintf("news.a %d", number), got.next(t))
			number += 2
			says(number)
			begun := time.Now()
			require.Equal(t, "gap 1", got.next(t))
			require.Equal(t, wait, time.Since(begun))
			require.Equal(t, fmt.Sprintf("news.a %d", number), got.next(t))
		}
	})
}
