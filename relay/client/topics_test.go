// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// listener remembers what a subscription gets.
type listener struct {
	mu    sync.Mutex
	got   []string
	gaps  []patterns.Gap
	hold  chan struct{} // not nil: waits at each message
	calls atomic.Int32
}

func (l *listener) ServePublication(p patterns.Publication) {
	l.calls.Add(1)
	if l.hold != nil {
		<-l.hold
	}
	l.add(string(p.Body))
}

func (l *listener) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, text)
}

func (l *listener) ServeGap(g patterns.Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, g)
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

func (l *listener) missed() []patterns.Gap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.gaps)
}

func subscribe(t testing.TB, m patterns.Messenger, pattern string, l *listener, o patterns.SubscribeOptions) patterns.Subscription {
	t.Helper()
	s, err := m.Subscribe(t.Context(), pattern, l, o)
	require.NoError(t, err)
	return s
}

// run returns the numbers from first to last as texts.
func run(first, last int) (list []string) {
	for i := first; i <= last; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

// bodies returns what was published, in order.
func (d *desk) bodies() (list []string) {
	for _, m := range d.all(wire.KindPublish) {
		_, body, err := wire.SplitTail(m.(wire.LeafPublish).Tail)
		require.NoError(d.t, err)
		list = append(list, string(body))
	}
	return list
}

// This test checks that a subscription gets what the relay names it for, with
// headers, in order, and is told of gaps where they are.
func TestSubscriptionsGetWhatTheyAreNamedFor(t *testing.T) {
	d, c := attached(t)
	got := make(chan patterns.Publication, 1)
	_, err := c.Subscribe(t.Context(), "h", patterns.SubscriberFunc(func(p patterns.Publication) { got <- p }), patterns.SubscribeOptions{})
	require.NoError(t, err)
	headers := []wire.Header{{Key: "k", Value: "v"}}
	m := wire.LeafPublication{Publisher: "pub", Topic: "h", Subscriptions: []uint64{1}}
	d.send(wire.LanePub, wire.KindPublish, m.AppendHead(nil), wire.AppendTail(nil, headers, []byte("x")))
	require.Equal(t, patterns.Publication{Topic: "h", From: "pub", Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("x")}, <-got)

	var a, b listener
	subscribe(t, c, "a.*", &a, patterns.SubscribeOptions{})
	s := subscribe(t, c, "a.>", &b, patterns.SubscribeOptions{})
	require.Equal(t, "a.>", s.Pattern())
	for i := range 100 {
		d.publish("a.b", fmt.Sprint(i+1), 2, 3)
	}
	d.gap(3, 5)
	d.publish("a.b", "101", 3, 99)
	eventually(t, func() bool { return slices.Equal(b.all(), run(1, 101)) }, "not all came in order")
	eventually(t, func() bool { return slices.Equal(a.all(), run(1, 100)) }, "each subscription has its own pace")
	require.Equal(t, []patterns.Gap{{From: "pub", Missed: 5, Exact: true, Reason: patterns.GapLane}}, b.missed())
	require.Equal(t, uint64(101), s.Status().Delivered)
	require.Equal(t, uint64(5), s.Status().Missed)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	d.publish("a.b", "102", 3)
	require.NoError(t, ask(t, c)) // behind it
	require.Len(t, b.all(), 101)
}

// inOrder remembers gaps among what a subscription gets.
type inOrder struct{ listener }

func (l *inOrder) ServeGap(g patterns.Gap) { l.add(fmt.Sprint("gap of ", g.Missed)) }

// This test checks that a gap stands where it came, also where what came with it was
// taken in together.
func TestAGapStandsWhereItCame(t *testing.T) {
	d := newDesk(t).open()
	var l inOrder
	_, err := d.client().Subscribe(t.Context(), "a", &l, patterns.SubscribeOptions{})
	require.NoError(t, err)
	head := wire.LeafPublication{Publisher: "pub", Topic: "a", Subscriptions: []uint64{1}}
	var want []string
	for i := range 300 {
		tails, texts := [][]byte{}, []string{fmt.Sprint(i), "b", "c"}
		for _, text := range texts {
			tails = append(tails, wire.AppendTail(nil, nil, []byte(text)))
		}
		_, err := session.SendRun(d.session(), wire.LanePub, wire.KindPublish, head.AppendHead(nil), tails)
		require.NoError(t, err)
		d.gap(1, uint64(i+1))
		want = append(append(want, texts...), fmt.Sprint("gap of ", i+1))
	}
	eventually(t, func() bool { return len(l.all()) == len(want) }, "not all came")
	require.Equal(t, want, l.all())
}

// This test checks that messages that share a frame come in order, each with its headers
// and body, among others that do not, and that a frame that is none is nobody's.
func TestSeveralMessagesOfAFrameComeInOrder(t *testing.T) {
	d := newDesk(t)
	d.features |= wire.FeatureSeveral
	d.open()
	var l inOrder
	_, err := d.client().Subscribe(t.Context(), "a", &l, patterns.SubscribeOptions{})
	require.NoError(t, err)
	head := (&wire.LeafPublication{Publisher: "pub", Topic: "a", Subscriptions: []uint64{1}}).AppendHead(nil)
	var want []string
	for i, sizes := range [][]int{{0}, {1, 2, 3}, {3000}, {1000, 0, 2000, 50_000, 7}, make([]int, 100), {60_000}, {64 << 10}, {1 << 20}, {5}} {
		frame := slices.Clone(head)
		for j, n := range sizes {
			text := fmt.Sprintf("%d.%d %0*d", i, j, n, 0)
			want = append(want, text)
			tail := wire.AppendTail(nil, []wire.Header{{Key: "k", Value: "v"}}[:j%2], []byte(text))
			frame = append(wire.AppendMessage(frame, "", nil, len(tail)), tail...)
		}
		d.send(wire.LanePub, wire.KindPublish, frame)
		d.send(wire.LanePub, wire.KindPublish, frame[:len(frame)-1])
	}
	eventually(t, func() bool { return len(l.all()) >= len(want) }, "not all came")
	require.Equal(t, want, l.all())
}

// This test checks that subscriptions come back with the relay, that each is told
// once that nobody knows what it missed, and that those that were closed do not
// come back.
func TestSubscriptionsComeBackWithTheRelay(t *testing.T) {
	d, c := attached(t)
	var a, b listener
	subscribe(t, c, "a", &a, patterns.SubscribeOptions{})
	closed := subscribe(t, c, "b", &b, patterns.SubscribeOptions{})
	require.NoError(t, closed.Close(t.Context()))
	d.publish("a", "1", 1)
	eventually(t, func() bool { return len(a.all()) == 1 }, "it does not come")
	for i := range 3 {
		d.stop()
		d.open()
		eventually(t, func() bool { return len(d.all(wire.KindSubscribe)) == i+3 }, "it does not come back")
		d.publish("a", "x", 1)
		eventually(t, func() bool { return len(a.all()) == i+2 }, "nothing comes")
		require.Len(t, a.missed(), i+1)
		require.Equal(t, patterns.Gap{Reason: patterns.GapRelay}, a.missed()[i])
	}
	require.Empty(t, b.missed())
}

// This test checks that the limits of a subscription are the program's: a slow one
// fills its own queue, by its policy, is told how much it missed, and holds up no
// other one.
func TestASlowSubscriberIsToldOfItsGap(t *testing.T) {
	for _, overflow := range []patterns.Overflow{patterns.OverflowOldest, patterns.OverflowNewest} {
		d := newDesk(t).open()
		c := d.client()
		slow := &listener{hold: make(chan struct{})}
		var fast listener
		s := subscribe(t, c, "x", slow, patterns.SubscribeOptions{QueueLength: 20, Overflow: overflow})
		subscribe(t, c, "x", &fast, patterns.SubscribeOptions{})
		for i := range 200 {
			d.publish("x", fmt.Sprint(i+1), 1, 2)
			eventually(t, func() bool { return slow.calls.Load() == 1 }, "nothing comes")
		}
		eventually(t, func() bool { return len(fast.all()) == 200 }, "a slow one holds up another one")
		close(slow.hold)
		eventually(t, func() bool {
			status := s.Status()
			return status.Delivered+status.Missed == 200
		}, "delivered and missed is not what was sent")
		require.Equal(t, uint64(21), s.Status().Delivered, "one with the program, and what waits")
		for _, g := range slow.missed() {
			require.Equal(t, patterns.GapSlow, g.Reason)
			require.True(t, g.Exact)
		}
	}
}

// This test checks that a subscription that blocks publishers tells the relay how
// much it may have, and what the program has taken, in each session anew.
func TestASubscriptionThatBlocksGivesCredit(t *testing.T) {
	d, c := attached(t)
	l := &listener{hold: make(chan struct{})}
	subscribe(t, c, "x", l, patterns.SubscribeOptions{QueueLength: 4, QueueBytes: 100, Overflow: patterns.OverflowBlock})
	f := d.all(wire.KindSubscribe)[0].(wire.Subscribe)
	require.Equal(t, wire.Subscribe{ID: 1, Options: wire.SubscribeBlocks, Length: 4, Bytes: 100, Pattern: "x"}, f)
	credits := func() (list []uint64) {
		for _, m := range d.all(wire.KindTunnelCredit) {
			require.Equal(t, uint64(1), m.(wire.TunnelCredit).ID)
			list = append(list, m.(wire.TunnelCredit).Total)
		}
		return list
	}
	for i := range 4 {
		d.publish("x", fmt.Sprint(i+1), 1)
	}
	eventually(t, func() bool { return l.calls.Load() == 1 }, "nothing comes")
	require.Empty(t, credits())
	for range 3 {
		l.hold <- struct{}{}
	}
	eventually(t, func() bool { return slices.Equal(credits(), []uint64{2}) }, "no credit")
	d.stop()
	d.open()
	eventually(t, func() bool { return len(d.all(wire.KindSubscribe)) == 2 }, "it does not come back")
	close(l.hold) // the fourth is of the session before
	for i := range 4 {
		d.publish("x", fmt.Sprint(i+5), 1)
	}
	eventually(t, func() bool { return slices.Equal(l.all(), run(1, 8)) }, "not all came")
	eventually(t, func() bool { return slices.Equal(credits(), []uint64{2, 2, 4}) }, "no credit")
}

// This test checks that closing delivers what waits, as long as it may.
func TestClosingASubscriptionDeliversWhatWaits(t *testing.T) {
	d, c := attached(t)
	l := &listener{hold: make(chan struct{})}
	s := subscribe(t, c, "x", l, patterns.SubscribeOptions{QueueLength: 10})
	for i := range 10 {
		d.publish("x", fmt.Sprint(i+1), 1)
	}
	eventually(t, func() bool { return s.Status().Queued == 9 }, "not all came")
	closed := beside(func() error { return s.Close(t.Context()) })
	eventually(t, func() bool { return len(d.all(wire.KindLeave)) == 1 }, "it does not begin")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
	close(l.hold)
	require.NoError(t, <-closed)
	require.Equal(t, run(1, 10), l.all())
}

// This test checks that Publish returns when the message is on its way, in order
// with those of TryPublish, and what is refused before.
func TestPublishReturnsWhenTheMessageIsOnItsWay(t *testing.T) {
	d, c := attached(t)
	for i := range 100 {
		m := patterns.Message{Body: fmt.Append(nil, i+1)}
		if i%2 == 0 {
			require.NoError(t, c.Publish(t.Context(), "a.b", m))
		} else {
			require.NoError(t, c.TryPublish("a.b", m))
		}
	}
	eventually(t, func() bool { return slices.Equal(d.bodies(), run(1, 100)) }, "not all came in order")
	require.ErrorIs(t, c.Publish(t.Context(), "a.*", patterns.Message{}), patterns.ErrTopic)
	require.ErrorIs(t, c.TryPublish("", patterns.Message{}), patterns.ErrTopic)
	large := patterns.Message{Body: make([]byte, 1<<20+1)}
	require.ErrorIs(t, c.Publish(t.Context(), "a", large), patterns.ErrTooLarge)
	require.ErrorIs(t, c.TryPublish("a", large), patterns.ErrTooLarge)
	require.Equal(t, map[string]uint64{"publish.too_large": 2}, c.Drops())

	d.on(wire.KindPublish, func(s *session.Session, body []byte) bool {
		m := published(d, body)
		if m.ID == 0 || m.ID == wire.SeveralPublications {
			return false
		}
		done := wire.Done{ID: m.ID, Value: 3}
		if m.Topic == "bad" {
			done = wire.Done{ID: m.ID, Outcome: wire.OutcomeUnreachable}
		}
		d.says(s, done)
		return true
	})
	var nodes int
	require.NoError(t, c.Publish(t.Context(), "a", patterns.Message{}, patterns.Confirm(&nodes)))
	require.Equal(t, 3, nodes)
	require.ErrorIs(t, c.Publish(t.Context(), "bad", patterns.Message{}, patterns.Confirm(&nodes)), patterns.ErrUnreachable)
}

// This test checks that a lane that is full holds Publish up, and TryPublish says
// so, until the relay has taken what is in it.
func TestAFullLaneHoldsPublishersUp(t *testing.T) {
	d := newDesk(t)
	d.lanes = 64 << 10
	var taking atomic.Bool
	release := make(chan struct{})
	d.on(wire.KindPublish, func(*session.Session, []byte) bool {
		if !taking.Load() {
			<-release // nothing is acknowledged meanwhile
		}
		return false
	})
	d.open()
	c := d.client()
	n := 0
	for ; c.TryPublish("x", patterns.Message{Body: fmt.Appendf(nil, "%1000d", n)}) == nil; n++ {
	}
	require.InDelta(t, 63, n, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var late *patterns.DeadlineError
	require.ErrorAs(t, c.Publish(ctx, "x", patterns.Message{Body: make([]byte, 1000)}), &late)
	require.False(t, late.MaybeRan, "there was no room for it")
	require.Equal(t, map[string]uint64{"publish.would_block": 1}, c.Drops())
	taking.Store(true)
	close(release)
	for range 200 {
		require.NoError(t, c.Publish(t.Context(), "x", patterns.Message{Body: make([]byte, 1000)}))
	}
	eventually(t, func() bool { return len(d.bodies()) == n+200 }, "not all came")
}

// This test checks that relays that are replaced in good order lose nothing of
// what is being published, whatever way, and keep the order.
func TestADrainedRelayLosesNoPublish(t *testing.T) {
	d, c := attached(t)
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for !stop.Load() && !t.Failed() {
			m := patterns.Message{Body: fmt.Append(nil, n+1)}
			if n%100 == 0 {
				if err := c.Publish(t.Context(), "x", m); err != nil {
					t.Error(err)
					break
				}
				n++
			} else if c.TryPublish("x", m) == nil {
				n++
			} else {
				time.Sleep(100 * time.Microsecond)
			}
		}
		done <- n
	}()
	for range 4 {
		before := len(d.all(wire.KindPublish))
		eventually(t, func() bool { return len(d.all(wire.KindPublish)) > before+500 }, "no progress")
		d.drain()
		d.open()
	}
	stop.Store(true)
	n := <-done
	require.NoError(t, c.Shutdown(t.Context()), "all of them are published")
	require.Equal(t, run(1, n), d.bodies())
	require.Zero(t, c.Drops()["publish.lost"])
}

// This test checks that a message that was taken and not published is not lost
// without a word: neither one that the relay refuses later, nor one that is lost
// with it.
func TestWhatWasTakenAndNotPublishedIsTold(t *testing.T) {
	d := newDesk(t)
	d.on(wire.KindPublish, func(s *session.Session, body []byte) bool {
		m := published(d, body)
		if m.Topic == "refused" {
			d.says(s, wire.Done{Outcome: wire.OutcomeUnreachable})
		} else {
			d.notePublished(m)
			d.stop() // before it is acknowledged
		}
		return true
	})
	told := make(chan error, 10)
	refused := func(cfg *client.Config) { cfg.Refused = func(err error) { told <- err } }
	d.open()
	c := d.client(refused)
	require.NoError(t, c.TryPublish("refused", patterns.Message{}))
	require.ErrorIs(t, <-told, patterns.ErrUnreachable)
	require.Equal(t, map[string]uint64{"publish.refused": 1}, c.Drops())
	require.NoError(t, c.Close())

	c = d.client(refused) // one that waits for no other acknowledgement
	require.NoError(t, c.Publish(t.Context(), "lost", patterns.Message{}))
	require.ErrorIs(t, <-told, patterns.ErrInterrupted)
	require.Equal(t, map[string]uint64{"publish.lost": 1}, c.Drops())
	err := c.Close()
	require.ErrorIs(t, err, patterns.ErrInterrupted)
	require.ErrorContains(t, err, "1 messages")
	require.NoError(t, c.Close(), "told once")
}
