// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
)

// check is one line of the list.
type check struct {
	name   string
	verify func(t *trial)
}

// quiet is what all patterns promise while nobody comes or goes.
func quiet() []check {
	return []check{
		{"empty-body", verifyEmptyBody},
		{"headers-kept", verifyHeadersKept},
		{"any-size", verifyAnySize},
		{"headers-too-large", verifyHeadersTooLarge},
		{"message-too-large", verifyMessageTooLarge},
		{"one-too-many", verifyOneTooMany},
		{"nobody", verifyNobody},
		{"nil-handler", verifyNilHandler},
		{"no-method", verifyNoMethod},
		{"panic", verifyPanic},
		{"cancelled-before", verifyCancelledBefore},
		{"cancelled-meanwhile", verifyCancelledMeanwhile},
		{"deadline-before", verifyDeadlineBefore},
		{"deadline-meanwhile", verifyDeadlineMeanwhile},
		{"drained", verifyDrained},
		{"heard-at-once", verifyHeardAtOnce},
		{"confirmed", verifyConfirmed},
	}
}

// leaving is what they promise of programs that end.
func leaving() []check {
	return []check{
		{"closed", verifyClosed},
		{"shut-down", verifyShutDown},
	}
}

// verifyEmptyBody checks that a message may have nothing in it.
func verifyEmptyBody(t *trial) {
	r := t.receiver(true, limits{})
	require.NoError(t, t.send(t.context(), arke.Message{}))
	got := await(t, r.entered)
	require.Empty(t, got.Body)
	require.Empty(t, got.Headers)
}

// verifyHeadersKept checks that headers come as they were sent: their order,
// those that repeat, and empty values.
func verifyHeadersKept(t *trial) {
	r := t.receiver(true, limits{})
	m := arke.Message{Body: []byte("x"), Headers: arke.Headers{
		{Key: "traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		{Key: "b", Value: "1"},
		{Key: "a", Value: "2"},
		{Key: "b", Value: "3"},
		{Key: "empty"},
		{Key: strings.Repeat("k", 255), Value: "ä\x00\n"},
	}}
	require.NoError(t, t.send(t.context(), m))
	require.NoError(t, same(m, await(t, r.entered)))
}

// verifyAnySize checks that messages come whole that are as long as a frame, a little
// shorter or longer, and much longer.
func verifyAnySize(t *trial) {
	r := t.receiver(true, limits{})
	for _, n := range []int{32 << 10, 64<<10 - 100, 64 << 10, 64<<10 + 1, 500 << 10} {
		m := arke.Message{Body: bytes.Repeat([]byte{byte(n / 100)}, n), Headers: arke.Headers{{Key: "n", Value: "x"}}}
		require.NoError(t, t.send(t.context(), m), "%d bytes", n)
		require.NoError(t, same(m, await(t, r.entered)))
	}
}

// verifyHeadersTooLarge goes over the limits on all headers and on one key.
func verifyHeadersTooLarge(t *trial) {
	r := t.receiver(true, limits{})
	for _, h := range []arke.Header{
		{Key: "k", Value: strings.Repeat("v", arke.MaxHeaderBytes)},
		{Key: strings.Repeat("k", 256)},
	} {
		require.ErrorIs(t, t.send(t.context(), arke.Message{Headers: arke.Headers{h}}), arke.ErrTooLarge)
	}
	t.quiet(r)
}

// verifyMessageTooLarge goes over the receiver's limit on messages by one byte;
// topics, which have no such limit, over that of all of Arke.
func verifyMessageTooLarge(t *trial) {
	l := limits{MessageBytes: 1000}
	over := l.MessageBytes + 1
	if t.face.promise.topics {
		over = 16<<20 + 1
	}
	r := t.receiver(true, l)
	require.ErrorIs(t, t.send(t.context(), arke.Message{Body: make([]byte, over)}), arke.ErrTooLarge)
	t.quiet(r)
}

// verifyOneTooMany fills the receiver: the next one is refused, or, of topics,
// a gap of one.
func verifyOneTooMany(t *trial) {
	if t.face.promise.topics {
		r, beside := t.receiver(false, limits{QueueLength: 1}), t.receiver(true, limits{})
		const sent = 4
		for i := range sent { // one is with the handler, one waits, one is too many
			require.NoError(t, t.send(t.context(), arke.Message{Body: []byte{byte(i)}}))
			await(t, beside.entered)
			if i == 0 {
				await(t, r.entered)
			}
		}
		// The third has come, since the fourth has; the fourth may just be coming.
		r.open()
		require.Eventually(t, func() bool {
			got, gaps := r.done()
			for _, g := range gaps {
				require.True(t, g.Exact)
				require.Equal(t, arke.GapSlow, g.Reason)
				got += int(g.Missed)
			}
			return got == sent && len(gaps) > 0
		}, patience, tick)
		return
	}
	r := t.receiver(false, limits{Concurrency: 1, QueueLength: -1, Tunnels: 1})
	first := t.sending(t.context(), arke.Message{Body: []byte("1")})
	t.comes(r, first)
	require.ErrorIs(t, t.send(t.context(), arke.Message{Body: []byte("2")}), arke.ErrOverloaded)
	r.open()
	require.NoError(t, await(t, first))
	t.isDone(r, 1)
}

// verifyNobody sends to a name that nobody has.
func verifyNobody(t *trial) {
	if want := t.face.promise.nobody; want != nil {
		require.ErrorIs(t, t.send(t.context(), arke.Message{}), want)
		return
	}
	require.NoError(t, t.send(t.context(), arke.Message{}))
}

// verifyHeardAtOnce checks that what another program publishes as soon as Subscribe has
// returned comes.
func verifyHeardAtOnce(t *trial) {
	if !t.face.promise.topics || t.Border {
		return
	}
	for i := range 20 {
		topic, heard := fmt.Sprint(t.to, ".", i), make(chan arke.Publication, 1)
		s, err := t.Member.SubscribeFunc(t.context(), topic, func(p arke.Publication) { heard <- p })
		require.NoError(t, err)
		require.NoError(t, t.Caller.Publish(t.context(), topic, arke.Message{}))
		require.Equal(t, topic, await(t, heard).Topic)
		require.NoError(t, s.Close(t.context()))
	}
}

// verifyConfirmed checks that Confirm counts the nodes that have acknowledged: none without a
// subscription, and one, once however many subscriptions it has; a gateway in its place if
// it is abroad.
func verifyConfirmed(t *trial) {
	if !t.face.promise.topics {
		return
	}
	confirmed := func() (nodes int) {
		require.NoError(t, t.Caller.Publish(t.context(), t.to+".news", arke.Message{}, arke.Confirm(&nodes)))
		return nodes
	}
	require.Zero(t, confirmed())
	r := t.receiver(true, limits{})
	require.Equal(t, 1, confirmed())
	await(t, r.entered)
	for _, pattern := range []string{t.to + ".>", "*.news"} {
		s, err := t.Member.SubscribeFunc(t.context(), pattern, func(arke.Publication) {})
		require.NoError(t, err)
		require.Equal(t, 1, confirmed(), pattern)
		require.NoError(t, s.Close(t.context()))
	}
}

// verifyNilHandler checks that nothing is not taken for a handler.
func verifyNilHandler(t *trial) {
	if t.face.promise.topics {
		_, err := t.Member.SubscribeFunc(t.context(), t.to, nil)
		require.Error(t, err)
		return
	}
	_, err := t.Member.Serve(t.context(), t.to, nil)
	require.Error(t, err)
}

// verifyNoMethod sends to a member that does other things.
func verifyNoMethod(t *trial) {
	if t.face.promise.topics {
		return // it has no members
	}
	other := takePush
	if t.face.name == "push" {
		other = echo
	}
	r := newReceiver(true)
	c, err := serving(other)(t.context(), t.Member, t.to, r, limits{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	t.isListed()
	var remote *arke.RemoteError
	require.ErrorAs(t, t.send(t.context(), arke.Message{}), &remote)
	require.Equal(t, arke.CodeNoMethod, remote.Code)
	require.Equal(t, t.to, remote.Cluster)
	t.quiet(r)
}

// verifyPanic has a handler panic: who waits for an answer is told, and the next
// message is handled.
func verifyPanic(t *trial) {
	r := t.receiver(true, limits{})
	r.panics.Store(true)
	err := t.send(t.context(), arke.Message{Body: []byte("1")})
	if t.face.promise.answers {
		var remote *arke.RemoteError
		require.ErrorAs(t, err, &remote)
		require.Equal(t, arke.CodePanic, remote.Code)
	} else {
		require.NoError(t, err)
	}
	await(t, r.entered)
	require.NoError(t, t.send(t.context(), arke.Message{Body: []byte("2")}))
	require.Equal(t, []byte("2"), await(t, r.entered).Body)
}

// patience is how long a check waits for one thing before it says that it hangs;
// a little is how long it watches that something does not happen.
const (
	patience = time.Minute
	little   = 50 * time.Millisecond
	tick     = 20 * time.Millisecond // between two looks; more of them would be a load
)

// Place is where programs meet.
type Place struct {
	// Caller and Member are two programs in one network, or in two that a gateway joins,
	// which lends the Clusters.
	Caller, Member *arke.Conn
	// Another starts one more, of the caller's kind, for a check to close. It
	// ends with t at the latest.
	Another func(t *testing.T) *arke.Conn
	// Border says that Caller and Member are in two networks: that somebody subscribes is
	// not known to publishers of the other one when Subscribe returns.
	Border bool
}

// Verify goes through the list with every pattern: first while the network is
// quiet, then while programs leave it.
func Verify(t *testing.T, p Place) {
	settle(t, p)
	t.Run("quiet", func(t *testing.T) { verify(t, p, quiet()) })
	t.Run("leaving", func(t *testing.T) { verify(t, p, leaving()) })
}

// Names are those of the clusters that Verify uses; of topics they begin with "topic:".
func Names() (names []string) {
	for _, f := range faces() {
		for _, c := range slices.Concat(quiet(), leaving()) {
			name := f.name + "-" + c.name
			if f.promise.topics {
				name = "topic:" + name
			}
			names = append(names, name)
		}
	}
	return names
}

func verify(t *testing.T, p Place, list []check) {
	for _, f := range faces() {
		for _, c := range list {
			t.Run(f.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.verify(&trial{T: t, Place: p, face: f, to: f.name + "-" + c.name})
			})
		}
	}
}

// settle waits until the network knows who is there: it is then that nobody can
// be told from somebody who is not found.
func settle(t *testing.T, p Place) {
	t.Helper()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := p.Caller.Request(ctx, "nobody", arke.Message{})
		return errors.Is(err, arke.ErrNoMembers)
	}, patience, tick)
}
