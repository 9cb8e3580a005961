// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// sealed is a message on topic sealed.a as the author has sealed it in one life.
func (a author) sealed(life, serial uint64, body string) single {
	keys := sealedKeys()
	head := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, life), serial)
	plain := append(append([]byte{8}, "sealed.a\x00\x00"...), body...)
	binding := security.Binding{Sender: peerOf(string(a)), SenderIncarnation: life, RequestID: serial}
	return single{
		Publish: wire.Publish{Session: 1, Run: run1, Flags: wire.FlagSealed}, Topic: "sealed.a",
		Body: keys.Seal(overlay.NewRealRand().Stream("test"), binding, head, plain),
	}
}

// sealedKeys are those of group sealed.
func sealedKeys() *security.Cluster {
	return security.NewCluster("topic:sealed", []security.KeyVersion{{Version: 1, Key: security.Key{1}}})
}

// brings has a forwarder, or the author itself, bring a message.
func (a author) brings(l *lone, from string, number uint64, m single) {
	m.Number = number
	if from != string(peerOf(string(a))) {
		m.Flags |= wire.FlagOrigin
		m.Origin = wire.Origin{Peer: string(peerOf(string(a))), Incarnation: 1}
	}
	l.publish(from, m)
}

// sealedPath is a path of group sealed that leads through f, when that much was
// addressed to this node. What is sealed for it has serials beyond 10.
func (a author) sealedPath(serial, number uint64) *wire.Path {
	p := &wire.Path{Session: 1, Run: run1, Number: number, Epoch: 1, Source: string(peerOf(string(a))), Group: name.Ref("sealed", sealedKeys().KeyID().String())}
	p.Proof.Serial, p.Proof.Floor = serial, 10
	proven(string(a), p, "f")
	return p
}

func TestASealedMessageIsDeliveredOnce(t *testing.T) {
	// This test has a forwarder of the publisher's show sealed messages again, under
	// other numbers, and such as were sealed before this node was known, or in an
	// earlier life of the publisher: each is delivered once, also where the publisher
	// itself has sent it, and whatever comes in another order, or shares a frame, is.
	alone(t, func(t *testing.T, l *lone) {
		got, pub, itself := l.listens(t, "sealed.>"), author("pub"), string(peerOf("pub"))
		l.shows("f", pub.sealedPath(11, 0))
		pub.brings(l, "f", 1, pub.sealed(1, 10, "before"))
		pub.brings(l, "f", 2, pub.sealed(0, 99, "in another life"))
		first := pub.sealed(1, 13, "one")
		pub.brings(l, "f", 3, first)
		for number := range uint64(4) {
			pub.brings(l, "f", 4+number, first)
		}
		direct := pub.sealed(1, 15, "two")
		pub.brings(l, itself, 8, direct)
		pub.brings(l, "f", 9, pub.sealed(1, 14, "three, which was sealed earlier"))
		pub.brings(l, "f", 10, direct)
		require.EqualValues(t, 7, l.dropped(env.DropReplay))
		for _, want := range []string{"one", "two", "three, which was sealed earlier"} {
			require.Equal(t, "sealed.a "+want, got.next(t))
		}

		both := pub.sealed(1, 16, "four")
		m := both.Publish
		m.Number, m.Origin = 11, wire.Origin{Peer: itself, Incarnation: 1}
		m.Flags |= wire.FlagOrigin
		for _, s := range []single{direct, both, first} {
			m.Messages = append(m.Messages, oneMessage("sealed.a", nil, nil, s.Body)...)
		}
		l.comes("f", wire.KindPublish, m.AppendTo(nil))
		require.Equal(t, "sealed.a four", got.next(t))
		require.EqualValues(t, 9, l.dropped(env.DropReplay))
		require.Empty(t, got)
	})
}

func TestASessionThatWasForgottenIsNotPlayedBack(t *testing.T) {
	// This test has a publisher be silent until this node forgets its session: an
	// earlier path of it is not believed then, and by the last one nothing is taken
	// that was opened before.
	alone(t, func(t *testing.T, l *lone) {
		got, pub := l.listens(t, "sealed.>"), author("pub")
		l.shows("f", pub.sealedPath(11, 0))
		one := pub.sealed(1, 13, "one")
		pub.brings(l, "f", 1, one)
		l.shows("f", pub.sealedPath(20, 1))
		require.Equal(t, "sealed.a one", got.next(t))
		time.Sleep(env.StreamTime + 2*env.SweepTime)
		require.Zero(t, l.sources.count())

		l.shows("f", pub.sealedPath(11, 0))
		pub.brings(l, "f", 1, one)
		require.EqualValues(t, 2, l.dropped(env.DropNotNamed))
		l.shows("f", pub.sealedPath(20, 1))
		pub.brings(l, "f", 1, one)
		require.EqualValues(t, 1, l.dropped(env.DropReplay))
		pub.brings(l, "f", 2, pub.sealed(1, 14, "two"))
		require.Equal(t, "sealed.a two", got.next(t))
		require.Empty(t, got)
	})
}
