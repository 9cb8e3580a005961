// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

func (b *binding) subscribe(m wire.Subscribe) {
	b.t.Helper()
	d := b.trySubscribe(m)
	require.Zero(b.t, d.Outcome, d.Text)
}

// trySubscribe asks for a subscription, and returns what becomes of it.
func (b *binding) trySubscribe(m wire.Subscribe) wire.Done {
	b.t.Helper()
	b.send(wire.LaneCtl, wire.KindSubscribe, &m)
	return b.done(m.ID)
}

func (b *binding) publish(id uint64, topic, text string) {
	b.t.Helper()
	m := wire.LeafPublish{ID: id, Topic: topic}
	b.sendLarge(wire.LanePub, wire.KindPublish, append(m.AppendHead(nil), tail(text)...))
}

func (b *binding) publication() wire.LeafPublication {
	b.t.Helper()
	return expect(b, wire.KindPublish, publicationOf)
}

func publicationOf(body []byte) (wire.LeafPublication, error) {
	return wire.DecodeLeafPublication(body, nil, nil)
}

// hasOf says whether a frame of that kind has come.
func (b *binding) hasOf(k wire.Kind) bool {
	b.has()
	return slices.ContainsFunc(b.ahead, func(a arrival) bool { return a.kind == k })
}

func (s *stage) publish(topic, text string) {
	s.t.Helper()
	require.NoError(s.t, s.node.Publish(s.t.Context(), topic, patterns.Message{Body: []byte(text)}))
}

// TestASubscriptionGetsWhatMatches proves that a message comes once, with the ids
// of all subscriptions of the client that it is for, in order, and that nothing
// comes behind the end.
func TestASubscriptionGetsWhatMatches(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := s.attach()
		b.subscribe(wire.Subscribe{ID: 3, Pattern: "a.*"})
		b.subscribe(wire.Subscribe{ID: 4, Pattern: "a.>"})
		b.subscribe(wire.Subscribe{ID: 5, Pattern: "b"})
		for i := range 10 {
			s.publish("a.x", fmt.Sprint(i))
			m := b.publication()
			require.Equal(t, s.node.Self().String(), m.Publisher)
			require.Equal(t, "a.x", m.Topic)
			require.ElementsMatch(t, []uint64{3, 4}, m.Subscriptions)
			require.Equal(t, fmt.Sprint(i), bodyOf(t, m.Tail))
		}
		require.Zero(t, b.leave(3).Outcome)
		s.publish("a.x", "last")
		require.Equal(t, []uint64{4}, b.publication().Subscriptions)
		require.Equal(t, wire.OutcomeTopic, b.trySubscribe(wire.Subscribe{ID: 6, Pattern: "a..b"}).Outcome)
		b.subscribe(wire.Subscribe{ID: 6, Pattern: "c"}) // the id is free
	})
}

// TestPublicationsAreAnsweredOnlyIfTheyNeed proves that one without an id has an
// answer only if it was refused, and that one with an id says how many nodes took
// it.
func TestPublicationsAreAnsweredOnlyIfTheyNeed(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b := s.attach(), s.attach()
		a.subscribe(wire.Subscribe{ID: 1, Pattern: "a"})
		b.publish(0, "a", "one")
		b.publish(0, "not..a topic", "two")
		d := b.done(0)
		require.Equal(t, wire.OutcomeTopic, d.Outcome)
		b.publish(7, "a", "three")
		require.Equal(t, uint64(1), b.done(7).Value)
		b.publish(8, "nobody", "four")
		d = b.done(8)
		require.Zero(t, d.Outcome)
		require.Zero(t, d.Value)
		require.Equal(t, "one", bodyOf(t, a.publication().Tail))
		require.Equal(t, "three", bodyOf(t, a.publication().Tail))
	})
}

// several puts messages into one frame.
func (b *binding) several(topic string, texts ...string) {
	b.t.Helper()
	m := wire.LeafPublish{ID: wire.SeveralPublications, Topic: topic}
	body := m.AppendHead(nil)
	for _, text := range texts {
		body = append(wire.AppendMessage(body, "", nil, len(tail(text))), tail(text)...)
	}
	b.sendLarge(wire.LanePub, wire.KindPublish, body)
}

// TestSeveralPublicationsOfAFrameAreEachPublished proves that messages which share a frame
// come in order, here and at another node, beside those that come alone, also where they
// have to wait until it is known who listens; and that each one that is refused is told.
func TestSeveralPublicationsOfAFrameAreEachPublished(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b := s.attach(), s.attach()
		a.subscribe(wire.Subscribe{ID: 1, Pattern: "a"})
		other := s.Start("other")
		var mu sync.Mutex
		var got, want []string // got is guarded by mu
		_, err := other.Subscribe(t.Context(), ">", patterns.SubscriberFunc(func(p patterns.Publication) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, p.Topic+" "+string(p.Body))
		}), patterns.SubscribeOptions{})
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		for round := range 3 {
			for _, topic := range []string{"a", "b"} {
				texts := []string{fmt.Sprint(round, 1), fmt.Sprint(round, 2), fmt.Sprint(round, 3)}
				b.several(topic, texts...)
				b.publish(0, topic, fmt.Sprint(round, 4))
				for _, text := range append(texts, fmt.Sprint(round, 4)) {
					want = append(want, topic+" "+text)
					if topic == "a" {
						require.Equal(t, text, bodyOf(t, a.publication().Tail))
					}
				}
				time.Sleep(time.Second)
			}
		}
		mu.Lock()
		require.Equal(t, want, got)
		mu.Unlock()
		require.False(t, b.has())
		b.several("not..a topic", "one", "two")
		for range 2 {
			require.Equal(t, wire.OutcomeTopic, b.done(0).Outcome)
		}
		require.False(t, b.has())
	})
}

// TestMessagesShareFramesToAClientThatTakesThem proves that what other nodes publish comes
// in order and once, several in a frame, to a client that takes that, and that frames are of one
// publisher, topic and set of subscriptions.
func TestMessagesShareFramesToAClientThatTakesThem(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		h := hello()
		h.Features |= wire.FeatureSeveral
		b := s.dial().greet(h)
		b.subscribe(wire.Subscribe{ID: 1, Pattern: "a.*"})
		b.subscribe(wire.Subscribe{ID: 2, Pattern: "a.y"})
		other := s.Start("other")
		time.Sleep(5 * time.Second)
		const count = 2000
		for i := range count {
			topic, body := "a.x", fmt.Appendf(nil, "%d %*d", i, i%300, 0)
			if i%100 > 90 {
				topic = "a.y"
			}
			require.NoError(t, other.Publish(t.Context(), topic, patterns.Message{Body: body}))
		}
		time.Sleep(time.Second)
		frames, next := 0, 0
		for b.hasOf(wire.KindPublish) {
			m := b.publication()
			frames++
			all := wire.Messages(m.Tail)
			_, err := all.CheckUnnamed()
			require.NoError(t, err)
			for one := (wire.Message{}); len(all) > 0; next++ {
				one = all.Next(one)
				var i int
				_, err := fmt.Sscan(bodyOf(t, one.Content), &i)
				require.NoError(t, err)
				require.Equal(t, next, i)
				require.Equal(t, i%100 > 90, m.Topic == "a.y")
				require.Len(t, m.Subscriptions, map[string]int{"a.x": 1, "a.y": 2}[m.Topic])
			}
		}
		require.Equal(t, count, next)
		require.Less(t, frames, count/4)
	})
}

// TestNoEchoIsOfOneClient proves that what a client publishes itself is left out
// for it, and for nobody else.
func TestNoEchoIsOfOneClient(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b := s.attach(), s.attach()
		for _, c := range []*binding{a, b} {
			c.subscribe(wire.Subscribe{ID: 1, Options: wire.SubscribeNoEcho, Pattern: "a"})
		}
		a.publish(0, "a", "of a")
		require.Equal(t, "of a", bodyOf(t, b.publication().Tail))
		b.publish(0, "a", "of b")
		require.Equal(t, "of b", bodyOf(t, a.publication().Tail))
		time.Sleep(time.Second)
		require.False(t, a.has() || b.has())
	})
}

// TestARelayAsksForSignaturesForItsClients proves that what another node publishes
// reaches a client that asks for signatures, in both kinds of subscriptions, because
// that node signs since the client has subscribed; the client needs no key for that.
func TestARelayAsksForSignaturesForItsClients(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		other, b := s.Start("other"), s.attach()
		time.Sleep(5 * time.Second)
		b.subscribe(wire.Subscribe{ID: 1, Options: wire.SubscribeSigned, Pattern: "a.*"})
		b.subscribe(wire.Subscribe{ID: 2, Options: wire.SubscribeSigned | wire.SubscribeBlocks, Pattern: "a.b"})
		require.NoError(t, other.Publish(t.Context(), "a.b", patterns.Message{Body: []byte("signed")}))
		for range 2 {
			m := b.publication()
			require.Equal(t, []any{other.Self().String(), "signed"}, []any{m.Publisher, bodyOf(t, m.Tail)})
		}
		require.Zero(t, s.node.Status().Drops["pubsub.unsigned"])
	})
}

// TestAClientThatDoesNotReadHurtsNobody proves that publishers and other clients
// do not wait for it, that no more is held for it than its limit, and that it gets
// its gap, exact, before anything else, when it reads again.
func TestAClientThatDoesNotReadHurtsNobody(t *testing.T) {
	const limit, size, count = 256 << 10, 10 << 10, 200
	play(t, func(cfg *relay.Config) { cfg.Limits.PublicationBytes = limit }, func(t *testing.T, s *stage) {
		slow, fast := s.attachMute(), s.attach()
		slow.send(wire.LaneCtl, wire.KindSubscribe, &wire.Subscribe{ID: 1, Pattern: "a"})
		fast.subscribe(wire.Subscribe{ID: 1, Pattern: "a"})
		time.Sleep(time.Second)
		text := string(make([]byte, size))
		begin := time.Now()
		for range count {
			s.publish("a", text)
			require.Len(t, bodyOf(t, fast.publication().Tail), size)
			fast.ack()
		}
		require.Less(t, time.Since(begin), time.Second)
		missed := s.relay.Status().Drops["publication.slow_client"]
		require.Positive(t, missed)
		for _, c := range s.relay.Status().Clients {
			require.LessOrEqual(t, c.PublicationBytes, limit)
		}
		slow.read()
		slow.done(1)
		got := uint64(0)
		for got+missed < count {
			slow.publication()
			got++
		}
		slow.ack()
		gap := expect(slow, wire.KindGap, wire.DecodeGap)
		require.Equal(t, wire.Gap{
			Subscriptions: []uint64{1}, Missed: missed, Exact: true, Reason: wire.GapSlow, Publisher: s.node.Self().String(),
		}, gap)
		s.publish("a", "next")
		require.Equal(t, "next", bodyOf(t, slow.publication().Tail))
	})
}

// attachMute attaches a client that has read the relay's Hello, and nothing else.
func (s *stage) attachMute() *binding {
	s.t.Helper()
	b := s.dial()
	b.say(hello())
	_, k, body, err := b.frames.Next()
	require.NoError(s.t, err)
	require.Equal(s.t, wire.KindHello, k)
	b.welcome, err = wire.DecodeRelayHello(body)
	require.NoError(s.t, err)
	return b
}

// TestASubscriptionThatBlocksHasPublishersWait proves that no more is on its way
// to the client than it said, and that publishers on its node wait for the rest.
func TestASubscriptionThatBlocksHasPublishersWait(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := s.attach()
		b.subscribe(wire.Subscribe{ID: 1, Options: wire.SubscribeBlocks, Length: 3, Pattern: "a"})
		sent := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			err := s.node.Publish(ctx, "a", patterns.Message{Body: []byte("x")})
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				break
			}
			sent++
		}
		require.InDelta(t, 4, sent, 1, "what is on the way, and one or two at the node")
		for range 3 {
			b.publication()
		}
		time.Sleep(time.Second)
		require.False(t, b.hasOf(wire.KindPublish))
		b.send(wire.LaneCtl, wire.KindTunnelCredit, wire.Taken{ID: 1, Total: 2})
		for range sent - 3 {
			nextOf(b, wire.KindPublish, publicationOf)
		}
		b.send(wire.LaneCtl, wire.KindTunnelCredit, wire.Taken{ID: 1, Total: uint64(sent)})
		s.publish("a", "goes")
		require.Equal(t, "goes", bodyOf(t, nextOf(b, wire.KindPublish, publicationOf).Tail))
		b.send(wire.LaneCtl, wire.KindTunnelCredit, wire.Taken{ID: 1, Total: 99})
		require.Contains(t, nextOf(b, wire.KindGoodbye, wire.DecodeLeafGoodbye).Text, "more is taken")
	})
}

// TestAPublicationThatWaitsHoldsUpNoOther proves that a topic which must wait
// keeps its order, holds up no other, is acknowledged when it is done, and ends at
// its deadline.
func TestAPublicationThatWaitsHoldsUpNoOther(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		block, free, p := s.attach(), s.attach(), s.attach()
		block.subscribe(wire.Subscribe{ID: 1, Options: wire.SubscribeBlocks, Length: 1, Pattern: "a"})
		free.subscribe(wire.Subscribe{ID: 1, Pattern: "b"})
		const count = 10
		for i := range count {
			p.publish(0, "a", fmt.Sprint(i))
		}
		p.publish(0, "b", "not held up")
		require.Equal(t, "not held up", bodyOf(t, free.publication().Tail))
		for i := range count {
			require.Equal(t, fmt.Sprint(i), bodyOf(t, block.publication().Tail))
			block.send(wire.LaneCtl, wire.KindTunnelCredit, wire.Taken{ID: 1, Total: uint64(i + 1)})
		}
		time.Sleep(time.Second)
		acked := uint64(0)
		for p.hasAny() {
			if _, k, body := p.nextFrame(); k == wire.KindAck {
				counts, err := wire.DecodeAck(body)
				require.NoError(t, err)
				acked = counts[wire.LanePub]
			}
		}
		require.Equal(t, uint64(count+1), acked)

		for range 4 { // one is taken by the client, some wait
			p.publish(9, "a", "late")
		}
		failed := 0
		for range 4 {
			if d := p.done(9); d.Outcome != 0 {
				require.Equal(t, wire.OutcomeDeadline, d.Outcome)
				failed++
			}
		}
		require.Positive(t, failed)
	})
}

// hasAny says whether any frame has come.
func (b *binding) hasAny() bool { b.has(); return len(b.ahead) > 0 }

// TestWhatABrokenConnectionHeldUpComes proves that a subscriber which comes back
// in time has missed nothing.
func TestWhatABrokenConnectionHeldUpComes(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := s.attach()
		b.subscribe(wire.Subscribe{ID: 1, Pattern: "a"})
		s.publish("a", "0")
		require.Equal(t, "0", bodyOf(t, b.publication().Tail))
		b.conn.Close()
		for i := range 100 {
			s.publish("a", fmt.Sprint(1+i))
		}
		time.Sleep(10 * time.Second)
		b = b.resume(s.dial())
		for i := range 100 {
			require.Equal(t, fmt.Sprint(1+i), bodyOf(t, b.publication().Tail))
		}
	})
}

// TestWhoIsAwayTakesNothingFromItsQueue proves that what is for a queue goes to its
// other members while one is away, which is told when it is back.
func TestWhoIsAwayTakesNothingFromItsQueue(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b := s.attach(), s.attach()
		a.subscribe(wire.Subscribe{ID: 1, Queue: "q", Pattern: "a"})
		b.subscribe(wire.Subscribe{ID: 1, Queue: "q", Pattern: "a"})
		a.conn.Close()
		time.Sleep(time.Second)
		for i := range 20 {
			s.publish("a", fmt.Sprint(i))
			require.Equal(t, fmt.Sprint(i), bodyOf(t, b.publication().Tail))
		}
		a = a.resume(s.dial())
		gap := expect(a, wire.KindGap, wire.DecodeGap)
		require.Equal(t, wire.Gap{Subscriptions: []uint64{1}, Reason: wire.GapRelay}, gap)
		time.Sleep(time.Second)
		b.conn.Close()
		time.Sleep(time.Second)
		s.publish("a", "to the other")
		require.Equal(t, "to the other", bodyOf(t, a.publication().Tail))
	})
}

// TestADrainSendsWhatWaits proves that publications which have come are sent
// before the goodbye.
func TestADrainSendsWhatWaits(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := s.attachMute()
		b.send(wire.LaneCtl, wire.KindSubscribe, &wire.Subscribe{ID: 1, Pattern: "a"})
		time.Sleep(time.Second)
		for i := range 10 {
			s.publish("a", fmt.Sprint(i))
		}
		ended := s.shutdown()
		time.Sleep(time.Second)
		b.read()
		for i := range 10 {
			m := behind(b, wire.KindPublish, publicationOf, wire.KindNotice, wire.KindDone)
			require.Equal(t, fmt.Sprint(i), bodyOf(t, m.Tail))
		}
		b.goodbye()
		b.conn.Close()
		require.NoError(t, <-ended)
	})
}
