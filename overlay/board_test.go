// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

var errUntrue = errors.New("untrue")

// heard are the statements that a node has heeded.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.all...)
}

// newListener is a node that heeds bans whose proof is "true".
func newListener(t *testing.T, net *memNet, id peer.ID) (*node, *heard) {
	n, h := newNode(t, net, id), &heard{}
	n.Statements().Handle(wire.Statement_BAN, overlay.StatementHandler{
		Max: 3,
		Check: func(s overlay.Statement) error {
			if string(s.Proof) != "true" {
				return errUntrue
			}
			return nil
		},
		Heed: func(s overlay.Statement) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.all = append(h.all, fmt.Sprint(s.Subject, s.Number))
		},
	})
	n.start()
	return n, h
}

func ban(subject string, number uint64) overlay.Statement {
	return overlay.Statement{Topic: wire.Statement_BAN, Subject: subject, Number: number, Proof: []byte("true")}
}

func TestStatementsReachEverybodyOnce(t *testing.T) {
	// This test links a, b and c in a row, and all three in a ring with d. What a says
	// reaches each once, also d that comes later; what is untrue goes nowhere.
	net := newMemNet()
	a, _ := newListener(t, net, "a")
	b, atB := newListener(t, net, "b")
	c, atC := newListener(t, net, "c")
	a.wait("b")
	b.wait("c")
	require.NoError(t, a.Statements().State(ban("mallory", 1)))
	require.ErrorIs(t, a.Statements().State(ban("mallory", 1)), overlay.ErrStale)
	require.ErrorIs(t, a.Statements().State(overlay.Statement{Topic: wire.Statement_BAN, Subject: "x", Number: 1}), errUntrue)
	require.Error(t, a.Statements().State(overlay.Statement{Topic: wire.Statement_REVOCATIONS, Number: 1, Proof: []byte("true")}))
	require.Eventually(t, func() bool { return len(atC.list()) == 1 }, 10*time.Second, time.Millisecond)

	d, atD := newListener(t, net, "d")
	d.wait("a")
	d.wait("c")
	require.Eventually(t, func() bool { return len(atD.list()) == 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, d.Statements().State(ban("mallory", 2)))
	for _, h := range []*heard{atB, atC, atD} {
		require.Eventually(t, func() bool { return len(h.list()) == 2 }, 10*time.Second, time.Millisecond)
		require.Equal(t, []string{"mallory1", "mallory2"}, h.list())
	}
	require.Equal(t, "mallory", c.Statements().Held(wire.Statement_BAN)[0].Subject)
}

func TestWhatWasRefusedIsHeardWhenItCanBeTrue(t *testing.T) {
	// This test has a node refuse a statement whose proof it can't check yet. When it can,
	// it hears it in the same session.
	net := newMemNet()
	a, _ := newListener(t, net, "a")
	b := newNode(t, net, "b")
	var knows atomic.Bool
	heard := make(chan overlay.Statement, 1)
	b.Statements().Handle(wire.Statement_BAN, overlay.StatementHandler{
		Check: func(overlay.Statement) error {
			if !knows.Load() {
				return errUntrue
			}
			return nil
		},
		Heed: func(s overlay.Statement) { heard <- s },
	})
	b.start()
	l := b.wait("a")
	require.NoError(t, a.Statements().State(overlay.Statement{Topic: wire.Statement_BAN, Subject: "mallory", Number: 1, Proof: []byte("true")}))
	require.Eventually(t, func() bool { return b.Drops()["statement_refused"] == 1 }, 10*time.Second, time.Millisecond)
	session := l.Session()
	knows.Store(true)
	b.Statements().Recheck(wire.Statement_REVOCATIONS)
	b.Statements().Recheck(wire.Statement_BAN)
	require.Equal(t, "mallory", (<-heard).Subject)
	require.Equal(t, session, l.Session())
}

func TestUntrueStatementsAreCountedAndStopped(t *testing.T) {
	// This test has a peer say what is untrue, and more than there is room for.
	net := newMemNet()
	b, atB := newListener(t, net, "b")
	liar := newRaw(t, net, "z")
	s := liar.greet("b")
	for _, m := range []*wire.Statement{
		{Topic: wire.Statement_BAN, Subject: []byte("mallory"), Number: 1, Proof: []byte("false")},
		{Topic: wire.Statement_NONE, Subject: []byte("mallory"), Number: 1},
		{Topic: wire.Statement_BAN, Subject: []byte("mallory"), Proof: []byte("true")},
		{Topic: wire.Statement_BAN, Subject: []byte("1"), Number: 1, Proof: []byte("true")},
		{Topic: wire.Statement_BAN, Subject: []byte("2"), Number: 1, Proof: []byte("true")},
		{Topic: wire.Statement_BAN, Subject: []byte("3"), Number: 1, Proof: []byte("true")},
		{Topic: wire.Statement_BAN, Subject: []byte("4"), Number: 1, Proof: []byte("true")},
	} {
		s.control(wire.KindStatement, m)
	}
	require.Eventually(t, func() bool { return b.Drops()["statement_refused"] == 4 }, 10*time.Second, time.Millisecond)
	require.Equal(t, []string{"11", "21", "31"}, atB.list())
}

func TestWhatAPeerSaysTooFastIsAskedForAgain(t *testing.T) {
	// This test has a peer say more that is untrue, and show more certificates that are
	// none, than are checked for one peer: the rest is not looked at. What it said that is
	// true is asked for again, and others are heard meanwhile.
	net := newMemNet()
	var checks atomic.Int64
	b := newNode(t, net, "b")
	b.Statements().Handle(wire.Statement_REVOCATIONS, overlay.StatementHandler{
		Signed: true,
		Check: func(s overlay.Statement) error {
			if checks.Add(1); string(s.Proof) != "true" {
				return errUntrue
			}
			return nil
		},
		Heed: func(overlay.Statement) {},
	})
	b.start()
	liar := newRaw(t, net, "z")
	s := liar.greet("b")
	for n := range uint64(300) {
		s.control(wire.KindStatement, &wire.Statement{Topic: wire.Statement_REVOCATIONS, Number: n + 1, Proof: []byte("false")})
	}
	require.Eventually(t, func() bool {
		return b.Drops()["statement_refused"]+b.Drops()["too_many_proofs"] == 300
	}, 10*time.Second, time.Millisecond)
	require.Less(t, checks.Load(), int64(200), "a hundred, and five a second")
	before := b.Drops()["too_many_proofs"]
	require.Positive(t, before)
	s.send(wire.KindCertificate, []byte("good"))
	require.Eventually(t, func() bool { return b.Drops()["too_many_proofs"] > before }, 10*time.Second, time.Millisecond)

	other := newRaw(t, net, "y").greet("b")
	other.control(wire.KindStatement, &wire.Statement{Topic: wire.Statement_REVOCATIONS, Number: 7, Proof: []byte("true")})
	require.Eventually(t, func() bool { return b.Statements().Number(wire.Statement_REVOCATIONS, "") == 7 }, 10*time.Second, time.Millisecond)
}

func TestWhatChangesWhileAStatementIsCheckedIsHeeded(t *testing.T) {
	// This test has a statement be true when it is checked and no longer when it is taken,
	// as where a key ends in between: it does not hold.
	net := newMemNet()
	b := newNode(t, net, "b")
	valid := true
	b.Statements().Handle(wire.Statement_BAN, overlay.StatementHandler{
		Check: func(overlay.Statement) error {
			if !valid {
				return errUntrue
			}
			valid = false // the key that proves it ends, and what it has proved is dropped
			b.Statements().Drop(wire.Statement_BAN, func(overlay.Statement) bool { return false })
			return nil
		},
		Heed: func(overlay.Statement) { require.Fail(t, "it was heeded") },
	})
	b.start()
	require.ErrorIs(t, b.Statements().State(ban("mallory", 1)), errUntrue)
	require.Empty(t, b.Statements().Held(wire.Statement_BAN))
}

func TestWhoIsExcludedIsCutOffAndRefused(t *testing.T) {
	// This test excludes a peer: its link ends with ErrExcluded at once, what either
	// side dials is refused, until it is admitted again.
	net := newMemNet()
	a, b := startNode(t, net, "a"), startNode(t, net, "b")
	b.wait("a")
	a.wait("b")
	a.Exclude("b")
	a.Exclude("a") // is nothing that anybody can do to itself
	require.Eventually(t, func() bool { return a.last("b").Type == overlay.LinkDown }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, a.last("b").Err, overlay.ErrExcluded)
	_, err := a.Link("b").Wait(t.Context(), nil)
	require.ErrorIs(t, err, overlay.ErrExcluded)
	require.Eventually(t, func() bool { return a.Drops()["peer_excluded"] > 0 }, 20*time.Second, time.Millisecond)
	require.False(t, a.Link("b").Up())

	a.Readmit("b")
	a.wait("b")
}

func TestWhoWaitsWhileAConnectionJoinsInVainIsAnswered(t *testing.T) {
	// This test excludes a peer whose call has been answered, and is about to carry the
	// session: who comes to wait then, when nobody dials, is not left behind.
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a, b := newNode(t, net, low), newNode(t, net, high)
		a.transport.lift = time.Second
		a.start()
		b.start()
		b.Link(low).Open(nil)
		synctest.Wait()
		require.True(t, a.Link(high).Up())

		a.Exclude(high)
		require.False(t, a.Link(high).Up())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := a.Link(high).Wait(ctx, nil)
		require.ErrorIs(t, err, overlay.ErrExcluded)
		a.Readmit(high)
		a.wait(high)
	})
}
