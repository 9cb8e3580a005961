// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// lists are rights by which a certificate is the list of the topics that it allows.
type lists struct {
	version uint64
	revoked bool
	asked   int
}

func (r *lists) Asks() bool                                { return true }
func (r *lists) Subscribes(string) error                   { return nil }
func (r *lists) MayPublish(peer.ID, []byte) bool           { return true }
func (r *lists) MaySubscribe(peer.ID, []byte, string) bool { return true }
func (r *lists) Certificate() []byte                       { return nil }
func (r *lists) Version() uint64                           { return r.version }

func (r *lists) MayPublishBy(_ peer.ID, certificate []byte, topic string) bool {
	r.asked++
	return !r.revoked && strings.Contains(string(certificate)+" ", " "+topic+" ")
}

// brought has f bring a message of pub's on a topic.
func brought(l *lone, number uint64, topic string) {
	author("pub").brings(l, "f", number, single{Publish: wire.Publish{Session: 1, Run: run1}, Topic: topic})
}

// broughtTogether has it bring messages on these topics in one frame.
func broughtTogether(l *lone, number uint64, topics ...string) {
	m := wire.Publish{Session: 1, Run: run1, Number: number, Flags: wire.FlagOrigin, Origin: wire.Origin{Peer: string(peerOf("pub")), Incarnation: 1}}
	for _, topic := range topics {
		m.Messages = append(m.Messages, oneMessage(topic, nil, nil, nil)...)
	}
	l.comes("f", wire.KindPublish, m.AppendTo(nil))
}

func TestForwardersDoNotBringWhatAPublisherMayNotPublish(t *testing.T) {
	// This test has a forwarder that obeys nobody bring messages of a publisher, in paths
	// that the publisher has signed: those on topics that its certificate allows arrive,
	// and no other; nor does any with a path from which the certificate was taken,
	// whose certificate is another one than was signed, or that shows none. Rights are
	// asked about once for each topic, and again when they have changed: what was revoked
	// meanwhile arrives no longer.
	alone(t, func(t *testing.T, l *lone) {
		rights := &lists{}
		l.base.Cfg.Rights = rights
		got, pub := l.listens(t, "news.>"), author("pub")
		shows := func(serial, number uint64, certificate string, lie func(*wire.Path)) {
			p := pub.path(1, serial, number, "f")
			p.Proof.Certificate = []byte(certificate)
			proven("pub", p, "f")
			if lie != nil {
				lie(p)
			}
			l.shows("f", p)
		}
		shows(1, 0, "may news.b", func(p *wire.Path) { p.Proof.Certificate = []byte("may news.a") })
		shows(1, 0, "may news.b", func(p *wire.Path) { p.Proof.Certificate = nil })
		brought(l, 1, "news.a")
		require.EqualValues(t, 3, l.dropped(env.DropNotNamed), "the lies, and what came by them")

		shows(1, 0, "may news.a", nil)
		for n := range uint64(100) {
			brought(l, n+1, "news.a")
			require.Equal(t, "news.a ", got.next(t))
		}
		require.Equal(t, 1, rights.asked)
		brought(l, 101, "news.b")
		brought(l, 101, "news.b")
		require.EqualValues(t, 2, l.dropped(env.DropNotAllowed))
		require.Equal(t, 2, rights.asked)
		broughtTogether(l, 101, "news.a", "news.b")
		require.Empty(t, got, "of a frame all or nothing")

		shows(2, 100, "may news.a news.b", nil)
		brought(l, 101, "news.b")
		require.Equal(t, "news.b ", got.next(t))
		shows(1, 0, "may news.a", nil) // which it was shown before
		brought(l, 102, "news.b")
		require.Equal(t, "news.b ", got.next(t), "the newest path counts")

		rights.revoked = true
		rights.version++
		before := l.dropped(env.DropNotAllowed)
		brought(l, 103, "news.a")
		require.Equal(t, before+1, l.dropped(env.DropNotAllowed))
		rights.revoked = false
		rights.version++
		shows(3, 102, "", nil)
		brought(l, 103, "news.a")
		require.Equal(t, before+2, l.dropped(env.DropNotAllowed))
		require.Empty(t, got)
	})
}

func TestWhatIsRefusedWithAFrameIsToldAsAGap(t *testing.T) {
	// This test has a frame of three messages come of which one may not be published: it is
	// refused whole, and those that were allowed are no silent loss. Who subscribes hears of
	// a gap of all three with the next message.
	alone(t, func(t *testing.T, l *lone) {
		l.base.Cfg.Rights = &lists{}
		got, pub := l.listens(t, "news.>"), author("pub")
		p := pub.path(1, 1, 0, "f")
		p.Proof.Certificate = []byte("may news.a")
		proven("pub", p, "f")
		l.shows("f", p)
		brought(l, 1, "news.a")
		require.Equal(t, "news.a ", got.next(t))
		broughtTogether(l, 2, "news.a", "news.b", "news.a")
		require.EqualValues(t, 3, l.dropped(env.DropNotAllowed))
		brought(l, 5, "news.a")
		require.Equal(t, []string{"gap 3", "news.a "}, []string{got.next(t), got.next(t)})
	})
}

func TestVerdictsAreBounded(t *testing.T) {
	// This test has a publisher use more topics than are remembered.
	e, rights := entitlement{}, &lists{}
	e.show([]byte("may"))
	for n := range 3 * maxVerdicts {
		m := wire.Publish{Count: 1, Messages: wire.AppendMessage(nil, fmt.Sprint("news.", n), nil, 0)}
		require.False(t, e.lets(rights, "p", &m))
		require.LessOrEqual(t, len(e.verdicts), maxVerdicts)
	}
}

func TestAVerdictThatIsKnownCostsNoAllocation(t *testing.T) {
	// This test counts what a message costs whose topic was asked about before.
	e, rights := entitlement{}, &lists{}
	e.show([]byte("may news.a"))
	m := wire.Publish{Count: 1, Messages: wire.AppendMessage(nil, "news.a", nil, 0)}
	require.Zero(t, testing.AllocsPerRun(1000, func() { e.lets(rights, "p", &m) }))
	require.Equal(t, 1, rights.asked)
}
