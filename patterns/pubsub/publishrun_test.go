// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// unnamed is a run of messages without headers.
func unnamed(bodies ...string) (run wire.Messages) {
	for _, body := range bodies {
		tail := wire.AppendTail(nil, nil, []byte(body))
		run = append(wire.AppendMessage(run, "", nil, len(tail)), tail...)
	}
	return run
}

func TestARunIsPublishedAsItsMessagesWouldBe(t *testing.T) {
	// This test publishes runs to nodes whose links take nothing: each is one frame, or
	// is added to the one that waits, with a number for each message, beside messages
	// that are published alone. Where a link is full nothing goes, or those that wait for
	// it miss all of them; and somebody here gets each.
	staged(t, wants("news.>", "news.a"), func(t *testing.T, s *stage) {
		one, two := s.links["n00"], s.links["n01"]
		one.Gathers, two.Gathers = true, true
		o := patterns.PublishOptions{}
		publish := func(topic string, bodies ...string) {
			done, failed, err := PublishRun(t.Context(), s.Engine, topic, unnamed(bodies...), len(bodies), o)
			require.NoError(t, err)
			require.Equal(t, []int{len(bodies), 0}, []int{done, failed})
		}
		publish("news.a", "one", "two")
		publish("news.a", "three", "four", "five")
		publish("news.b", "six", "seven")
		s.says(t, "news.b", "eight")
		publish("news.b", "nine", "ten")
		require.Equal(t, []string{"one #1 + two #2 + three #3 + four #4 + five #5 + six #6 + seven #7 + eight #8 + nine #9 + ten #10"}, one.Said())
		require.Equal(t, []string{"one #1 + two #2 + three #3 + four #4 + five #5"}, two.Said())

		two.Room = 0
		done, failed, err := TryPublishRun(s.Engine, "news.a", unnamed("x", "y"), 2, o)
		require.ErrorIs(t, err, patterns.ErrWouldBlock)
		require.Zero(t, done)
		require.Equal(t, 2, failed)
		require.Empty(t, one.Said())
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, failed, err = PublishRun(ended, s.Engine, "news.a", unnamed("eleven", "twelve"), 2, o)
		require.Error(t, err)
		require.Equal(t, 2, failed)
		two.Room = -1
		publish("news.a", "thirteen", "fourteen")
		require.Equal(t, []string{"eleven #11 + twelve #12 + thirteen #13 + fourteen #14"}, one.Said())
		require.Equal(t, []string{"thirteen #8 + fourteen #9"}, two.Said(), "it has missed two")
		require.Equal(t, uint64(2), s.Drops()[env.DropLane.String()])

		status := s.Status()
		require.Equal(t, []uint64{14, 14 + 7}, []uint64{status.Published, status.Copies})
		got := s.listens(t, "news.a")
		publish("news.a", "fifteen", "sixteen")
		require.Equal(t, []string{"news.a fifteen", "news.a sixteen"}, []string{got.next(t), got.next(t)})
		require.Equal(t, []string{"fifteen #15 + sixteen #16"}, one.Said())
	})
}

func TestARunThatHasQueuesIsTakenApart(t *testing.T) {
	// This test publishes runs to two nodes that share a queue: each message goes to
	// one of them. Of a message that can't be published the run says so, and the rest can
	// go on behind it.
	staged(t, slices.Repeat(member, 2), func(t *testing.T, s *stage) {
		var bodies []string
		for i := range 40 {
			bodies = append(bodies, fmt.Sprint(i))
		}
		done, _, err := PublishRun(t.Context(), s.Engine, "news.a", unnamed(bodies...), len(bodies), patterns.PublishOptions{})
		require.NoError(t, err)
		require.Equal(t, len(bodies), done)
		one, two := len(s.links["n00"].Said()), len(s.links["n01"].Said())
		require.Equal(t, 40, one+two)
		require.True(t, one > 5 && two > 5, "%d and %d", one, two)

		for _, l := range s.links {
			l.Room = 0
		}
		done, failed, err := TryPublishRun(s.Engine, "news.a", unnamed("x", "y"), 2, patterns.PublishOptions{})
		require.ErrorIs(t, err, patterns.ErrWouldBlock)
		require.Equal(t, []int{0, 1}, []int{done, failed})
	})
}

func TestClientsOfTheSameRelayGetARunTogether(t *testing.T) {
	// This test publishes a run beside clients of the publisher's own relay: each is called
	// once for all of it, but for the one that wants no echo of its own. Where somebody here
	// is in a queue, or has an inbox, each message is by itself, and nobody has it twice.
	alone(t, func(t *testing.T, l *lone) {
		_, one := l.proxy(t, 1, map[uint64]string{5: "news.>", 6: "news.a"}, patterns.SubscribeOptions{})
		_, two := l.proxy(t, 2, map[uint64]string{5: "*.a"}, patterns.SubscribeOptions{})
		_, own := l.proxy(t, 3, map[uint64]string{5: "news.a"}, patterns.SubscribeOptions{NoEcho: true})
		heard := func(ids string, bodies ...string) (lines []string) {
			for _, body := range bodies {
				lines = append(lines, fmt.Sprintf("news.a of self: %s 0 %s <nil>", body, ids))
			}
			return lines
		}
		publish := func(calls int, bodies ...string) {
			one.calls, two.calls = 0, 0
			done, failed, err := PublishRun(t.Context(), l.Engine, "news.a", unnamed(bodies...), len(bodies), patterns.PublishOptions{Origin: 3})
			require.NoError(t, err)
			require.Equal(t, []int{len(bodies), 0}, []int{done, failed})
			require.Equal(t, heard("[5 6]", bodies...), one.said())
			require.Equal(t, heard("[5]", bodies...), two.said())
			require.Empty(t, own.said())
			require.Equal(t, []int{calls, calls}, []int{one.calls, two.calls})
		}
		publish(1, "one", "two", "three")
		var many []string
		for i := range 3*atOnce + 1 {
			many = append(many, fmt.Sprint(i))
		}
		publish(4, many...)
		require.EqualValues(t, 3+len(many), l.Status().Published)

		queue, shared := l.proxy(t, 4, map[uint64]string{8: "news.*"}, patterns.SubscribeOptions{Queue: "q"})
		publish(2, "four", "five")
		require.Equal(t, heard("[8]", "four", "five"), shared.said())
		queue.Close()
		publish(1, "six", "seven")
		got := l.listens(t, "news.a")
		publish(2, "eight", "nine")
		require.Equal(t, []string{"news.a eight", "news.a nine"}, []string{got.next(t), got.next(t)})
	})
}

func TestALongRunIsTakenApart(t *testing.T) {
	// This test publishes a run that with its head would not fit into one frame.
	staged(t, wants("news.>"), func(t *testing.T, s *stage) {
		run := unnamed(string(make([]byte, 40<<10)), string(make([]byte, 23<<10)))
		done, _, err := PublishRun(t.Context(), s.Engine, "news.a", run, 2, patterns.PublishOptions{})
		require.NoError(t, err)
		require.Equal(t, 2, done)
		require.Len(t, s.links["n00"].Said(), 2)
	})
}
