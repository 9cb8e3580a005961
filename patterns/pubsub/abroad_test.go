// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

func TestWhatAGatewayBringsInFrames(t *testing.T) {
	// This test has a gateway bring messages: what is from a network whose name is none is
	// malformed, and where more streams are heard than a node remembers it counts what
	// comes of others, and says that something is missing.
	alone(t, func(t *testing.T, l *lone) {
		got := l.hears(t, "news.>", patterns.SubscribeOptions{})
		number := uint64(0)
		brings := func(network string, stream uint64) {
			number++
			said := wire.Crossed{Carrier: 1, Stream: stream, Serial: 1, Publisher: []byte(peerOf("pub")), Network: []byte(network)}
			l.publish("gate", single{
				Publish: wire.Publish{Session: 1, Run: run1, Number: number, Flags: wire.FlagLent},
				Topic:   "news.a", Body: said.AppendTo([]byte("x")),
			})
		}
		brings("eu", 1)
		require.Equal(t, "news.a x", got.next(t))

		malformed := l.dropped(env.DropMalformed)
		brings("eu\x1b[2J", 2)
		require.Equal(t, malformed+1, l.dropped(env.DropMalformed))
		number--

		fill := func(by peer.ID) {
			l.local.abroad.mu.Lock()
			defer l.local.abroad.mu.Unlock()
			l.local.abroad.all = crowd.NewTable[streamKey, peer.ID, *stream](env.MaxStreams, l.base.Random.IntN)
			for i := range uint64(env.MaxStreams) {
				l.local.abroad.all.Put(streamKey{stream: 1000 + i}, by, &stream{})
			}
		}
		fill("gate")
		brings("eu", 3)
		require.Equal(t, "gap 0 border", got.next(t))
		require.EqualValues(t, 1, l.dropped(env.DropStreams))

		fill("another gateway")
		brings("eu", 4)
		require.Equal(t, "news.a x", got.next(t))
		require.EqualValues(t, 1, l.dropped(env.DropYielded))
	})
}

// gaps has what is told of each.
type gaps chan patterns.Gap

func (gaps) ServePublication(patterns.Publication) {}
func (c gaps) ServeGap(g patterns.Gap)             { c <- g }

func TestAGapBeforeAllThatAGatewayBringsIsNotOfTheGateway(t *testing.T) {
	// This test has the first messages of a session go missing: where others' messages come
	// in it, or nothing yet, nobody knows whose they were, and they may have been none. Those
	// of a publisher are its own.
	for name, c := range map[string]struct {
		flags uint8
		mark  bool
		want  patterns.Gap
	}{
		"a gateway":   {flags: wire.FlagLent, want: patterns.Gap{Missed: 4, Reason: patterns.GapLost}},
		"only a mark": {mark: true, want: patterns.Gap{Missed: 5, Reason: patterns.GapLost}},
		"a publisher": {want: patterns.Gap{Missed: 4, Exact: true, From: peer.ID("gate").String(), Reason: patterns.GapLost}},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, l *lone) {
				got := make(gaps, 1)
				_, err := l.Engine.Subscribe(t.Context(), "news.>", got, patterns.SubscribeOptions{})
				require.NoError(t, err)
				time.Sleep(env.UnsureTime + time.Second)
				body := []byte("x")
				if c.flags != 0 {
					said := wire.Crossed{Carrier: 1, Stream: 1, Serial: 5, Publisher: []byte(peerOf("pub")), Network: []byte("eu")}
					body = said.AppendTo(body)
				}
				if c.mark {
					l.marks("gate", wire.PublishMark{Session: 1, Run: run1, Number: 5, Group: "news"})
				} else {
					l.publish("gate", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 5, Flags: c.flags}, Topic: "news.a", Body: body})
				}
				require.Equal(t, c.want, <-got)
			})
		})
	}
}
