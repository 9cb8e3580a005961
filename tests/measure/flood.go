// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	floodBody  = 32 << 10 // bytes
	floodQueue = 32 << 20 // bytes that the member lets wait
	floodSpan  = 10 * time.Second
)

// flood measures what ten times as much work as a member can do takes of its
// relay's memory, and of an honest caller's time at another cluster.
func flood(m *meter) {
	relays := harness.NewNetwork(m).Relays(2)
	slow := relays[1].Client()
	work := patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		time.Sleep(10 * time.Millisecond)
		return patterns.Message{}, nil
	})
	limits := patterns.Limits{Concurrency: 4, QueueBytes: floodQueue, QueueLength: 1 << 20} // 400 requests a second
	_, err := slow.Serve(context.Background(), "slow", work, limits)
	m.must(err)
	serve(m, relays[1], "echo")
	relays[0].Sees(1, "slow")
	relays[0].Sees(1, "echo")
	honest := asks(relays[0].Client())
	m.times("honest caller of another cluster, before", m.sequence(honest))
	before := relays[1].RSS()

	stop := make(chan struct{})
	var outcomes tally
	var wg sync.WaitGroup
	for range 10 {
		app := relays[0].Client()
		for range 400 { // in all ten times 400 requests a second, and more
			wg.Go(func() { outcomes.drive(app, stop) })
		}
	}
	var took []time.Duration
	most := 0
	for begin := time.Now(); time.Since(begin) < floodSpan; {
		start := time.Now()
		m.must(honest())
		took = append(took, time.Since(start))
		most = max(most, relays[1].RSS())
	}
	close(stop)
	wg.Wait()
	m.times("honest caller of another cluster, during", took)
	m.say("flood, by outcome", "%v", outcomes.String())
	m.say("relay of the flooded member", "%.1f MB before, at most %.1f MB; its queue may have %.1f MB",
		float64(before)/1e6, float64(most)/1e6, float64(floodQueue)/1e6)
}

// tally counts outcomes of the flood.
type tally struct{ answered, refused, late, other atomic.Uint64 }

func (c *tally) String() string {
	return fmt.Sprintf("%d answered, %d refused as overloaded, %d late, %d other", c.answered.Load(), c.refused.Load(), c.late.Load(), c.other.Load())
}

func (c *tally) drive(app *client.Client, stop <-chan struct{}) {
	body := make([]byte, floodBody)
	for {
		select {
		case <-stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := app.Request(ctx, "slow", patterns.Message{Body: body})
		cancel()
		switch {
		case err == nil:
			c.answered.Add(1)
		case errors.Is(err, patterns.ErrOverloaded):
			c.refused.Add(1)
		case errors.Is(err, context.DeadlineExceeded):
			c.late.Add(1)
		default:
			c.other.Add(1)
		}
	}
}

// topicSpan is how long the publishers publish.
const topicSpan = 2 * time.Second

// topics measures how many messages of 16 B and 1 KB a second go from
// publishers to subscribers, and what was lost: every subscription is on a
// topic that all publishers use.
func topics(m *meter) {
	near, far := m.nodes("topics")
	relays := harness.NewNetwork(m).Relays(2)
	for _, bytes := range []int{16, 1 << 10} {
		for _, shape := range [][2]int{{1, 1}, {1, 4}, {4, 4}} {
			m.fan("embedded", shape, bytes,
				func() patterns.Messenger { return near }, func() patterns.Messenger { return far })
			m.fan("through two relays", shape, bytes,
				func() patterns.Messenger { return relays[0].Client() }, func() patterns.Messenger { return relays[1].Client() })
		}
	}
}

// listener counts what one subscription gets.
type listener struct{ heard, missed atomic.Uint64 }

func (l *listener) ServePublication(*patterns.Publication) { l.heard.Add(1) }

func (l *listener) ServeGap(g patterns.Gap) { l.missed.Add(g.Missed) }

// fan runs publishers against subscribers, each a client of its own.
func (m *meter) fan(how string, shape [2]int, bytes int, publisher, subscriber func() patterns.Messenger) {
	ctx := context.Background()
	topic := fmt.Sprintf("measure.%p", &shape)
	listeners := make([]listener, shape[1])
	for i := range listeners {
		s, err := subscriber().Subscribe(ctx, topic, &listeners[i], patterns.SubscribeOptions{})
		m.must(err)
		defer s.Close(ctx)
	}
	wait(200 * time.Millisecond) // the acknowledgement is a moment before all publishers know
	var sent atomic.Uint64
	var wg sync.WaitGroup
	begin := time.Now()
	for range shape[0] {
		app := publisher()
		wg.Go(func() {
			body := make([]byte, bytes)
			for time.Since(begin) < topicSpan {
				if err := app.Publish(ctx, topic, patterns.Message{Body: body}); err != nil {
					m.Errorf("publish: %v", err)
					return
				}
				sent.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	want := sent.Load() * uint64(shape[1])
	sums := func() (heard, missed uint64) {
		for i := range listeners {
			heard += listeners[i].heard.Load()
			missed += listeners[i].missed.Load()
		}
		return heard, missed
	}
	harness.Eventually(m, 20*time.Second, "every message is delivered or reported", func() error {
		if heard, missed := sums(); heard+missed != want {
			return fmt.Errorf("%d delivered and %d reported of %d", heard, missed, want)
		}
		return nil
	})
	heard, missed := sums()
	m.say(fmt.Sprintf("publish %d → %d, %s, %d B", shape[0], shape[1], how, bytes),
		"%8.0f published/s  %8.0f delivered/s  %d reported missing", float64(sent.Load())/took.Seconds(), float64(heard)/took.Seconds(), missed)
}

// tunnelSpan is how long each stream runs.
const tunnelSpan = 2 * time.Second

// tunnels measures the bytes per second that one tunnel carries, beside one
// bare libp2p stream in the same run.
func tunnels(m *meter) {
	near, far := m.nodes("pipe")
	relays := harness.NewNetwork(m).Relays(2)
	farApp := relays[1].Client()
	m.drains(far)
	m.drains(farApp)
	relays[0].Sees(1, "drain")
	nearApp := relays[0].Client()
	for range 2 { // so that none profits from the order
		for _, bytes := range []int{1 << 10, 64 << 10} {
			m.rate("bare libp2p stream", bytes, m.bareStream(bytes))
			m.rate("tunnel, embedded nodes", bytes, m.throughTunnel(near, bytes))
			m.rate("tunnel, through two relays", bytes, m.throughTunnel(nearApp, bytes))
		}
	}
}

// rate prints what so many messages a second are.
func (m *meter) rate(what string, bytes int, perSecond float64) {
	m.say(fmt.Sprintf("%s, %d B", what, bytes), "%8.0f messages/s  %7.1f MB/s", perSecond, perSecond*float64(bytes)/1e6)
}

// drains serves a cluster whose tunnels are read to their end and then told
// how many bytes came.
func (m *meter) drains(member patterns.Messenger) {
	drain := func(ctx context.Context, t patterns.Tunnel) error {
		var sum int64
		for {
			message, err := t.Receive(ctx)
			if errors.Is(err, io.EOF) {
				return t.Send(ctx, fmt.Append(nil, sum))
			} else if err != nil {
				return err
			}
			sum += int64(len(message))
		}
	}
	_, err := member.Serve(context.Background(), "drain", patterns.Service{Tunnel: drain}, patterns.Limits{})
	m.must(err)
}

// throughTunnel returns the messages per second that arrive.
func (m *meter) throughTunnel(caller patterns.Messenger, bytes int) float64 {
	ctx := context.Background()
	t, err := caller.OpenTunnel(ctx, "drain", patterns.Message{}, patterns.WaitForMember())
	m.must(err)
	message := make([]byte, bytes)
	begin, sent := time.Now(), 0
	for ; time.Since(begin) < tunnelSpan; sent++ {
		m.must(t.Send(ctx, message))
	}
	m.must(t.CloseSend())
	sum, err := t.Receive(ctx)
	m.must(err)
	took := time.Since(begin)
	if want := fmt.Sprint(sent * bytes); string(sum) != want {
		m.Fatalf("sent %s bytes, %s came", want, sum)
	}
	m.must(t.Close())
	return float64(sent) / took.Seconds()
}

// bareStream does the same over one stream of plain libp2p.
func (m *meter) bareStream(bytes int) float64 {
	near, far := m.plainSwarm(), m.plainSwarm()
	far.SetStreamHandler(func(s network.Stream) {
		defer s.Close()
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, s, make([]byte, 64<<10))
		fmt.Fprint(s, n)
	})
	near.Peerstore().AddAddrs(far.LocalPeer(), far.ListenAddresses(), time.Hour)
	stream, err := near.NewStream(context.Background(), far.LocalPeer())
	m.must(err)
	message := make([]byte, bytes)
	begin, sent := time.Now(), 0
	for ; time.Since(begin) < tunnelSpan; sent++ {
		_, err := stream.Write(message)
		m.must(err)
	}
	m.must(stream.CloseWrite())
	_, err = io.ReadAll(stream)
	m.must(err)
	return float64(sent) / time.Since(begin).Seconds()
}
