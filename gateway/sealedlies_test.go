// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// liar is a gateway between two clouds that has the finding key and does what it likes.
type liar struct {
	t        *testing.T
	from, to *node.Node
	refs     [2]string // of the cluster, at from and at to

	mu      sync.Mutex
	deliver func(d *request.Delivery) // guarded by mu
}

func newLiar(t *testing.T, from, to *cloud, keys security.ClusterFile) *liar {
	l := &liar{t: t, from: from.node(), to: to.node()}
	for i, n := range []*node.Node{l.from, l.to} {
		ref, release, err := n.Find(keys.Finding())
		require.NoError(t, err)
		t.Cleanup(release)
		l.refs[i] = ref
	}
	return l
}

// Deliver implements request.Forwarder.
func (l *liar) Deliver(d *request.Delivery) {
	l.mu.Lock()
	f := l.deliver
	l.mu.Unlock()
	f(d)
}

// Cancel implements request.Forwarder.
func (l *liar) Cancel(*request.Delivery) {}

func (l *liar) does(f func(d *request.Delivery)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliver = f
}

// member is the only one that the liar finds.
func (l *liar) member() *cluster.Member {
	w := l.from.Watch(l.refs[0])
	defer w.Release()
	var m *cluster.Member
	require.Eventually(l.t, func() bool {
		if all := w.View().Members; len(all) == 1 && len(all[0].Passed()) > 0 {
			m = all[0]
		}
		return m != nil
	}, patience, 10*time.Millisecond)
	return m
}

// lends registers a member in the other network.
func (l *liar) lends(network string, passed map[security.ClusterID]cluster.Passed) error {
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Second)
	defer cancel()
	all := request.ServesOf(patterns.PatternRequest, patterns.PatternPush)
	_, err := l.to.Lend(ctx, l.refs[1], cluster.Registration{Network: network, Priority: 1, Passed: passed}, all, patterns.Limits{}, l)
	return err
}

// send gives the member what the liar likes, and returns what it says.
func (l *liar) send(m *cluster.Member, origin wire.Origin, tail []byte) wire.Reply {
	done := make(chan request.Answer, 1)
	l.from.Begin(request.Ask{Cluster: l.refs[0], To: m, Origin: &origin, Tail: tail}, func(a request.Answer, err error) {
		require.NoError(l.t, err)
		done <- a
	})
	return (<-done).Reply
}

func TestAGatewayWithAFindingKeyCanNeitherReadCallNorServe(t *testing.T) {
	// This test has a gateway with the finding key try: to call the member, to play a
	// caller's request back, to change one, to serve the cluster itself, and to pass leases on that it
	// has changed. It gets as far as an honest one: what it passes on is answered once.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	var ran atomic.Int64
	serve(t, eu.node(keys), "vault", patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		ran.Add(1)
		return patterns.Message{Body: append([]byte("the answer to "), r.Body...)}, nil
	}))
	l := newLiar(t, eu, us, keys)
	m := l.member()
	require.Zero(t, m.Key)
	require.Empty(t, m.Payload)
	require.Equal(t, 1, m.Capacity, "what a member says of itself is not told")
	nobody(t, l.from, "vault") // the network's key is another one

	self := wire.Origin{Peer: string(l.from.Self()), Incarnation: 1, Serial: 1}
	require.Equal(t, wire.OutcomeUnauthorized, l.send(m, self, make([]byte, 200)).Outcome)
	require.ErrorIs(t, l.lends("eu", nil), cluster.ErrNoKeys)

	// A lease that is not the member's, or not for this place, is nobody's.
	caller := us.node(keys)
	for name, change := range map[string]func(p *cluster.Passed){
		"record":      func(p *cluster.Passed) { p.Record[40] ^= 1 },
		"hash":        func(p *cluster.Passed) { p.Record[len(p.Record)-1] ^= 1 },
		"signature":   func(p *cluster.Passed) { p.Signature[3] ^= 1 },
		"incarnation": func(p *cluster.Passed) { p.Incarnation++ },
		"member":      func(p *cluster.Passed) { p.Member++ },
		"peer":        func(p *cluster.Passed) { p.Peer = l.from.Self() },
		"network":     func(p *cluster.Passed) { p.Network = us.file.ID },
	} {
		forged := map[security.ClusterID]cluster.Passed{}
		for id, p := range m.Passed() {
			p.Record, p.Signature = bytes.Clone(p.Record), bytes.Clone(p.Signature)
			change(&p)
			forged[id] = p
		}
		require.NoError(t, l.lends("eu", forged), name)
	}
	nobody(t, caller, "vault")

	type sent struct {
		origin wire.Origin
		tail   []byte
	}
	seen := make(chan sent, 100)
	l.does(func(d *request.Delivery) {
		seen <- sent{d.Origin, bytes.Clone(d.Tail)}
		d.Answer(l.send(m, d.Origin, d.Tail))
	})
	require.NoError(t, l.lends("eu", m.Passed()))
	gets(t, caller, "vault", "the answer to ")
	got, err := ask(t, caller, "vault", "a question that nobody else may read")
	require.NoError(t, err)
	require.Equal(t, "the answer to a question that nobody else may read", got)
	before := ran.Load()
	for len(seen) > 0 {
		s := <-seen
		require.NotContains(t, string(s.tail), "question")
		require.Equal(t, wire.OutcomeUnauthorized, l.send(m, s.origin, s.tail).Outcome, "it was opened before")
		other := s.origin
		other.Serial += 1000
		require.Equal(t, wire.OutcomeUnauthorized, l.send(m, other, s.tail).Outcome)
		other = s.origin
		other.Peer = string(l.from.Self())
		require.Equal(t, wire.OutcomeUnauthorized, l.send(m, other, s.tail).Outcome)
	}
	require.Equal(t, before, ran.Load())
}

func TestWhatAGatewaySaysItselfIsNoMoreThanThatNobodyWasReached(t *testing.T) {
	// This test has a gateway answer in the member's place: with each outcome, in clear
	// and as if it were sealed, and with the member's answer to another request. Callers
	// hear that nobody was reached, that all are busy, or that they can't know; never a
	// reply, an error of the handler, or that they have no right.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	keys := vaultKeys(t, "vault")
	serve(t, eu.node(keys), "vault", says("eu"))
	l := newLiar(t, eu, us, keys)
	m := l.member()
	var old atomic.Pointer[wire.Reply]
	l.does(func(d *request.Delivery) {
		r := l.send(m, d.Origin, d.Tail)
		kept := r
		kept.Tail = bytes.Clone(r.Tail)
		old.Store(&kept)
		require.Equal(t, []uint32{0, 0, 0, 0}, []uint32{r.Queue, r.Running, r.ServiceMicros, r.Code}, "what the gateway sees of an answer")
		require.Equal(t, wire.OutcomeReply, r.Outcome)
		d.Answer(r)
	})
	require.NoError(t, l.lends("eu", m.Passed()))
	caller := us.node(keys)
	gets(t, caller, "vault", "eu ")
	_, err := ask(t, caller, "vault", "fail")
	var remote *patterns.RemoteError
	require.ErrorAs(t, err, &remote, "which looked like any reply to the gateway")

	allowed := map[wire.Outcome]error{
		wire.OutcomeReply: patterns.ErrInterrupted, wire.OutcomeRemoteError: patterns.ErrInterrupted, wire.OutcomeCancelled: patterns.ErrInterrupted,
		wire.OutcomeOverloaded: patterns.ErrOverloaded, wire.OutcomeNoSuchMember: patterns.ErrUnreachable, wire.OutcomeDraining: patterns.ErrUnreachable,
		wire.OutcomeExpired: patterns.ErrUnreachable, wire.OutcomeUnauthorized: patterns.ErrUnreachable, wire.OutcomeTooLarge: patterns.ErrUnreachable,
	}
	text := wire.AppendTail(nil, nil, []byte("a lie"))
	for o, want := range allowed {
		l.does(func(d *request.Delivery) { d.Answer(wire.Reply{Outcome: o, Code: 7, Tail: text}) })
		_, err := ask(t, caller, "vault", "x")
		require.ErrorIs(t, err, want, "%v", o)
		require.False(t, errors.As(err, &remote), "%v", o)
	}
	l.does(func(d *request.Delivery) { d.Answer(*old.Load()) })
	_, err = ask(t, caller, "vault", "x")
	require.ErrorIs(t, err, patterns.ErrInterrupted, "the answer to another request")
	l.does(func(d *request.Delivery) {
		d.Answer(wire.Reply{Outcome: wire.OutcomeReply, Flags: wire.FlagSealed, Tail: make([]byte, 200)})
	})
	_, err = ask(t, caller, "vault", "x")
	require.ErrorIs(t, err, patterns.ErrInterrupted)
	l.does(func(d *request.Delivery) { d.Answer(l.send(m, d.Origin, d.Tail)) })
	gets(t, caller, "vault", "eu ")
}
