// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// severalOf is a frame with messages of one topic.
func severalOf(m wire.Publish, topic string, bodies ...string) []byte {
	for i, body := range bodies {
		if i > 0 {
			topic = ""
		}
		m.Messages = append(m.Messages, oneMessage(topic, nil, nil, []byte(body))...)
	}
	return m.AppendTo(nil)
}

func TestWhatComesWhileTheLinkIsBusySharesAFrame(t *testing.T) {
	// This test publishes while links take nothing: the first message goes at once,
	// in a frame of its own, and the next ones are added to it, with the numbers
	// that follow, whatever their topic is. Nothing is added behind another frame,
	// where numbers do not follow each other, or when the link has taken the frame.
	staged(t, wants("news.>", "news.a"), func(t *testing.T, s *stage) {
		one, two := s.links["n00"], s.links["n01"]
		one.Gathers, two.Gathers = true, true
		s.says(t, "news.a", "one")
		require.Equal(t, []string{"one #1"}, one.Tape, "nobody waits for others")
		s.says(t, "news.a", "two")
		s.says(t, "news.b", "three")
		s.says(t, "news.a", "four")
		require.Equal(t, []string{"one #1 + two #2 + three #3 + four #4"}, one.Said())
		require.Equal(t, []string{"one #1 + two #2 + four #3"}, two.Said())

		one.Gathers = false
		s.says(t, "news.a", "five")
		one.Gathers = true
		s.says(t, "news.a", "six")
		require.Equal(t, []string{"five #5 + six #6"}, one.Said())
		s.p.Mu.Lock()
		s.p.Settle(s.p.subscribers.Receivers["n00"], 0)
		s.p.Mu.Unlock()
		s.says(t, "news.a", "seven")
		require.Equal(t, []string{"mark #6", "seven #7"}, one.Said())

		two.Room = 0
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, s.Publish(ended, "news.a", patterns.Message{Body: []byte("eight")}, patterns.PublishOptions{}))
		two.Room = -1
		s.says(t, "news.a", "nine")
		require.Equal(t, []string{"five #4 + six #5 + seven #6", "nine #8"}, two.Said(), "it has not had number 7")
	})
}

func TestWhatRepeatsGoesAsTheFirstDid(t *testing.T) {
	// This test publishes to one node while its link takes nothing, which is the short
	// way, and leaves it by each thing that may change: another topic, a frame that
	// the link has taken or that is another, no room, somebody here who listens. Every message has its number, goes once, and is counted.
	staged(t, wants("news.>"), func(t *testing.T, s *stage) {
		link := s.links["n00"]
		link.Gathers = true
		sent := uint64(0)
		publish := func(topic, text string, hs ...patterns.Header) {
			sent++
			require.NoError(t, s.Publish(t.Context(), topic, patterns.Message{Headers: hs, Body: []byte(text)}, patterns.PublishOptions{}))
		}
		for _, text := range []string{"one", "two", "three"} {
			publish("news.a", text)
		}
		publish("news.a", "four", patterns.Header{Key: "k", Value: "v"})
		publish("news.b", "five")
		publish("news.b", "six")
		require.Equal(t, []string{"one #1 + two #2 + three #3 + \x01k\x00\x01vfour #4 + five #5 + six #6"}, link.Said())

		publish("news.b", "seven")
		s.p.Mu.Lock()
		s.p.Settle(s.p.subscribers.Receivers["n00"], 0)
		s.p.Mu.Unlock()
		publish("news.b", "eight")
		publish("news.b", "nine")
		require.Equal(t, []string{"seven #7", "mark #7", "eight #8 + nine #9"}, link.Said())

		publish("news.b", "ten")
		link.Room = 0
		require.ErrorIs(t, s.TryPublish("news.b", patterns.Message{Body: []byte("eleven")}, patterns.PublishOptions{}), patterns.ErrWouldBlock)
		link.Room = -1
		require.NoError(t, s.TryPublish("news.b", patterns.Message{Body: []byte("eleven")}, patterns.PublishOptions{}))
		sent++
		require.Equal(t, []string{"ten #10 + eleven #11"}, link.Said())

		got := make(catcher, 1)
		sub, err := s.Engine.Subscribe(t.Context(), "news.b", got, patterns.SubscribeOptions{})
		require.NoError(t, err)
		publish("news.b", "twelve")
		publish("news.b", "thirteen")
		require.Equal(t, "news.b twelve", got.next(t))
		require.Equal(t, "news.b thirteen", got.next(t))
		require.Equal(t, []string{"twelve #12 + thirteen #13"}, link.Said())
		require.NoError(t, sub.Close(t.Context()))

		publish("news.b", "fourteen")
		status := s.Status()
		require.Equal(t, []uint64{sent, sent}, []uint64{status.Published, status.Copies})
		require.Equal(t, []string{"fourteen #14"}, link.Said())
	})
}

func TestWhatRepeatsForSeveralNodesGoesToEachAsItsLinkAllows(t *testing.T) {
	// This test publishes to three nodes while their links take nothing, which is the
	// short way, and has one of them leave it: its link has taken the frame, has no room,
	// or is gone. The others have each message added, nobody twice, each with its number;
	// and TryPublish does nothing if one lacks room.
	staged(t, everybody(3), func(t *testing.T, s *stage) {
		links := []*fake.Link{s.links["n00"], s.links["n01"], s.links["n02"]}
		for _, l := range links {
			l.Gathers = true
		}
		said := func() (all []string) {
			for _, l := range links {
				all = append(all, strings.Join(l.Said(), ", "))
			}
			return all
		}
		for _, text := range []string{"one", "two", "three"} {
			s.say(t, text)
		}
		whole := "one #1 + two #2 + three #3"
		require.Equal(t, []string{whole, whole, whole}, said())

		s.say(t, "four")
		for _, l := range links[1:] { // of whichever is not the first
			l.Gathers = false
			s.say(t, "five of "+string(l.With))
			l.Gathers = true
		}
		require.Equal(t, []string{
			"four #4 + five of n01 #5 + five of n02 #6", "four #4, five of n01 #5 + five of n02 #6", "four #4 + five of n01 #5, five of n02 #6",
		}, said())

		s.say(t, "seven")
		s.say(t, "eight")
		links[2].Room = 0
		require.ErrorIs(t, s.TryPublish("news.a", patterns.Message{Body: []byte("nine")}, patterns.PublishOptions{}), patterns.ErrWouldBlock)
		links[2].Room = -1
		whole = "seven #7 + eight #8"
		require.Equal(t, []string{whole, whole, whole}, said(), "of nine nobody has anything")

		s.say(t, "nine")
		links[1].Life = 0
		s.say(t, "ten")
		links[1].Life = 7
		s.say(t, "eleven")
		whole = "nine #9 + ten #10 + eleven #11"
		require.Equal(t, []string{whole, "nine #9", whole}, said(), "what waits for a link is not overtaken")
		status := s.Status()
		require.Equal(t, []uint64{11, 33}, []uint64{status.Published, status.Copies})
	})
}

func TestATreeTakesSeveralMessagesInAFrame(t *testing.T) {
	// This test publishes to many while links take nothing: each head gets one
	// frame, and passes it on as it came.
	staged(t, everybody(18), func(t *testing.T, s *stage) {
		for _, l := range s.links {
			l.Gathers = true
		}
		for i := range 3 {
			s.say(t, fmt.Sprint(i))
		}
		passed := 0
		for p, said := range s.said() {
			if _, after, told := strings.Cut(said, "path "); told {
				_, said, _ = strings.Cut(after, ", ")
				passed++
			}
			messages, _, _ := strings.Cut(said, " on ")
			require.Equal(t, "0 #1 + 1 #2 + 2 #3", messages, p)
		}
		require.Equal(t, 18-env.FanOut, passed)
	})
}

func TestAForwarderPassesSeveralMessagesOnAsTheyCame(t *testing.T) {
	// This test gives a forwarder a frame of messages on two topics: who wants both
	// gets them with the numbers that follow, who wants one gets that one, and the
	// node behind a node that is sent nothing itself gets its own.
	alone(t, func(t *testing.T, l *lone) {
		l.links = map[peer.ID]*fake.Link{}
		source := string(peerOf("source"))
		path := wire.Path{Session: 1, Run: run1, Epoch: 7, Group: "news", Source: source}
		for i, pattern := range []string{"news.>", "news.b"} {
			p := peer.ID(fmt.Sprint("n", i))
			l.links[p] = &fake.Link{With: p, Life: 1, Room: -1, Gathers: true}
			path.Stops = append(path.Stops, wire.Stop{Peer: string(p), Run: run1, Number: 10, Interests: []wire.Interest{{Pattern: pattern}}})
		}
		proven("source", &path, "p")
		l.shows("p", &path)
		for _, link := range l.links {
			link.Said()
		}
		m := wire.Publish{Session: 1, Run: run1, Epoch: 7, Flags: wire.FlagOrigin, Origin: wire.Origin{Peer: source, Incarnation: 1}}
		for i, topic := range []string{"news.a", "", "news.b", "news.a"} {
			m.Messages = append(m.Messages, oneMessage(topic, nil, nil, []byte(fmt.Sprint(i)))...)
		}
		l.comes("p", wire.KindPublish, m.AppendTo(nil))
		require.Equal(t, []string{"0 #11 + 1 #12 + 2 #13 + 3 #14"}, l.links["n0"].Said())
		require.Equal(t, []string{"2 #11"}, l.links["n1"].Said())
		require.EqualValues(t, 4, l.Status().Forwarded)
		require.EqualValues(t, 5, l.Status().Copies)
	})
}

func TestMessagesOfOneFrameAreDeliveredInOrder(t *testing.T) {
	// This test plays a publisher that puts several messages into a frame, in
	// order, too late in part, and before others: subscriptions and proxies get
	// each once, and in order, and what they get stays what it is when the memory
	// of a frame that is not kept is used again.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "news.>")
		_, sink := l.proxy(t, 1, map[uint64]string{5: "news.a"}, patterns.SubscribeOptions{})
		comes := func(number uint64, bodies ...string) {
			b := severalOf(wire.Publish{Session: 1, Run: run1, Number: number}, "news.a", bodies...)
			if kept := l.comes("p", wire.KindPublish, b); !kept {
				clear(b)
			}
		}
		comes(1, "1", "2", "3")
		comes(7, "7", "8")
		comes(4, "4", "5")
		comes(5, "5 again", "6")
		var want, said []string
		for n := range 8 {
			want = append(want, fmt.Sprint("news.a ", n+1))
			said = append(said, fmt.Sprintf("news.a of p: %d 0 [5] <nil>", n+1))
		}
		for _, text := range want {
			require.Equal(t, text, got.next(t))
		}
		require.Equal(t, said, sink.said())
		require.EqualValues(t, 1, l.dropped(env.DropLate))
		require.EqualValues(t, 9, l.Status().Received)
	})
}

func TestAFrameWithATopicThatIsNoneOrOfAnotherGroupIsRefused(t *testing.T) {
	// This test hides a message behind one that is good: nothing of the frame is
	// delivered, for its source would be in two groups.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "news.>", "other.>")
		for i, topic := range []string{"other.a", "news.*", "news..a"} {
			m := wire.Publish{Session: 1, Run: run1, Number: 1}
			m.Messages = append(oneMessage("news.a", nil, nil, nil), oneMessage(topic, nil, nil, nil)...)
			l.comes("p", wire.KindPublish, m.AppendTo(nil))
			require.EqualValues(t, i+1, l.dropped(env.DropMalformed))
		}
		require.Empty(t, got)
	})
}

func TestTheFirstMemberOfAQueueThatHasRoomGetsTheMessage(t *testing.T) {
	// This test has two nodes share a queue, neither of which has room: the
	// publisher waits, and the first one that has room again gets the message,
	// whichever would have been drawn. Others are sent it then, too. If none has
	// room in time, one of them is told of a gap.
	staged(t, slices.Concat(member, member, wants("news.>")), func(t *testing.T, s *stage) {
		s.say(t, "first")
		s.said()
		for round := range 20 {
			for _, p := range []peer.ID{"n00", "n01"} {
				s.links[p].Full(true)
			}
			free := peer.ID(fmt.Sprintf("n%02d", round%2))
			begun := time.Now()
			time.AfterFunc(time.Second, func() { s.links[free].Full(false) })
			s.say(t, "x")
			require.Equal(t, time.Second, time.Since(begun))
			said := s.said()
			require.Len(t, said, 2)
			require.Contains(t, said, free)
			require.Contains(t, said, peer.ID("n02"))
		}
		for _, p := range []peer.ID{"n00", "n01"} {
			s.links[p].Full(true)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Publish(ctx, "news.a", patterns.Message{Body: []byte("late")}, patterns.PublishOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Contains(t, s.said()["n02"], "late")
		require.EqualValues(t, 1, s.dropped(env.DropLane))
		require.ErrorIs(t, s.TryPublish("news.a", patterns.Message{}, patterns.PublishOptions{}), patterns.ErrWouldBlock)
		require.Empty(t, s.said())
		for _, p := range []peer.ID{"n00", "n01"} {
			s.links[p].Full(false)
		}
		time.Sleep(2 * env.HoleTime)
		require.Len(t, s.said(), 1, "one is told")
	})
}
