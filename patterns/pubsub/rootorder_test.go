// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

func TestTheRootGroupHearsOnePublisherInOrderThroughTwoForwarders(t *testing.T) {
	// What an earlier forwarder has kept while a later one was faster is dropped
	// as late, whichever it is that is late; a publisher that was started anew
	// begins anew, and publishers do not disturb each other.
	alone(t, func(t *testing.T, l *lone) {
		got := l.listens(t, "*.>")
		numbers := map[string]uint64{}
		through := func(forwarder, publisher string, life, serial uint64, body string) {
			numbers[forwarder]++
			said := security.RootForwarder{Incarnation: life, Serial: 1, Forwarder: peer.ID(forwarder)}
			if forwarder == "g" { // the later one
				said.Serial, said.Rank = 2, map[uint64]uint64{1: 3, 2: 1}[life]
			}
			l.publish(forwarder, single{Publish: wire.Publish{
				Session: 1, Run: run1, Number: numbers[forwarder], Flags: wire.FlagRoot | wire.FlagOrigin, Source: forwarder,
				Origin: wire.Origin{Peer: string(peerOf(publisher)), Incarnation: life, Serial: serial}, Forwarder: chooses(publisher, said),
			}, Topic: "news.a", Body: []byte(body)})
		}
		through("f", "p", 1, 1, "one")
		through("g", "p", 1, 4, "four")
		through("f", "p", 1, 2, "two")
		through("f", "p", 1, 3, "three")
		through("g", "p", 1, 4, "four again")
		through("f", "q", 1, 2, "other")
		through("f", "p", 2, 1, "another life")
		through("g", "p", 1, 9, "its last")
		through("g", "p", 2, 2, "and on")
		for _, want := range []string{"one", "four", "other", "another life", "and on"} {
			require.Equal(t, "news.a "+want, got.next(t))
		}
		require.Empty(t, got)
		require.EqualValues(t, 4, l.dropped(env.DropLate))
	})
}

func TestWhatAnEarlierForwarderStillHadIsLateWhoeverIsTheNewOne(t *testing.T) {
	// This test makes a publisher, new to this node, change its forwarder to this node, to
	// itself, and to a third one: what the earlier one still had is late.
	for name, forwarder := range map[string]string{"this node": "self", "the publisher": string(peerOf("p")), "a third one": "g"} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, l *lone) {
				got := l.listens(t, "*.>")
				require.NotNil(t, l.publishers.use(env.RootGroup, true))
				p := string(peerOf("p"))
				message := func(through string, serial, chosen uint64, body string) {
					said := security.RootForwarder{Incarnation: 1, Serial: chosen, Forwarder: peer.ID(through), Rank: 2 * (chosen - 1)}
					m := single{Publish: wire.Publish{
						Session: 1, Run: run1, Number: serial - said.Rank, Flags: wire.FlagRoot | wire.FlagOrigin, Source: through,
						Origin: wire.Origin{Peer: p, Incarnation: 1, Serial: serial}, Forwarder: chooses("p", said),
					}, Topic: "news.a", Body: []byte(body)}
					from := through
					if through == "self" {
						from, m.Source = p, "" // which passes it on
					}
					l.publish(from, m)
				}
				message(forwarder, 5, 3, "five")
				require.Equal(t, "news.a five", got.next(t))
				message("f", 3, 2, "three")
				message("f", 4, 2, "four")
				message(forwarder, 6, 3, "six")
				require.Equal(t, "news.a six", got.next(t))
				require.EqualValues(t, 2, l.dropped(env.DropLate))
			})
		})
	}
}

func TestPublishersThatTheRootGroupRemembersAreBounded(t *testing.T) {
	// One publisher more than there is room for is dropped and counted, and those
	// that are silent for long make room.
	alone(t, func(t *testing.T, l *lone) {
		for n := range env.MaxStreams {
			require.NotNil(t, l.roots.find(peer.ID([]byte{byte(n), byte(n >> 8), byte(n >> 16)}), "by"))
		}
		l.roots.deliver(&incoming{publisher: "one more", by: "by", m: wire.Publish{Count: 1}})
		require.EqualValues(t, 1, l.dropped(env.DropStreams))
		require.Zero(t, l.roots.sweep(l.base.Now()+int64(env.StreamTime)+1))
	})
}
