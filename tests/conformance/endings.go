// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
)

// verifyCancelledBefore sends with a context that was cancelled: no handler
// runs.
func verifyCancelledBefore(t *trial) {
	r := newReceiver(true)
	t.receive(r, limits{})
	require.NoError(t, t.send(t.context(), arke.Message{})) // that there is a way is known
	await(t, r.entered)
	ctx, cancel := context.WithCancel(t.context())
	cancel()
	err := t.send(ctx, arke.Message{})
	require.ErrorIs(t, err, context.Canceled)
	requireNotRun(t, err)
	t.quiet(r)
}

// verifyDeadlineBefore sends when it is too late already: no handler runs.
func verifyDeadlineBefore(t *trial) {
	r := newReceiver(true)
	t.receive(r, limits{})
	require.NoError(t, t.send(t.context(), arke.Message{}))
	await(t, r.entered)
	ctx, cancel := context.WithDeadline(t.context(), time.Now().Add(-time.Second))
	defer cancel()
	err := t.send(ctx, arke.Message{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireNotRun(t, err)
	t.quiet(r)
}

// requireNotRun checks that the error says that no handler can have run.
func requireNotRun(t *trial, err error) {
	t.Helper()
	var late *arke.DeadlineError
	require.ErrorAs(t, err, &late)
	require.False(t, late.MaybeRan)
}

// verifyCancelledMeanwhile cancels while the handler runs: who waits for an
// answer does not wait any longer.
func verifyCancelledMeanwhile(t *trial) {
	r := newReceiver(false)
	t.receive(r, limits{})
	ctx, cancel := context.WithCancel(t.context())
	defer cancel()
	outcome := t.sending(ctx, arke.Message{Body: []byte("1")})
	t.comes(r, outcome)
	meanwhile(t, r, outcome, context.Canceled, cancel)
}

// verifyDeadlineMeanwhile has the deadline pass while the handler runs.
func verifyDeadlineMeanwhile(t *trial) {
	r := newReceiver(false)
	t.receive(r, limits{})
	for span := 20 * little; ; span *= 2 {
		ctx, cancel := context.WithTimeout(t.context(), span)
		defer cancel()
		outcome := t.sending(ctx, arke.Message{Body: []byte("1")})
		select {
		case <-r.entered:
		case err := <-outcome:
			if err != nil && span < patience { // it had no time to come
				require.ErrorIs(t, err, context.DeadlineExceeded)
				continue
			}
			outcome <- err
			t.comes(r, outcome)
		}
		meanwhile(t, r, outcome, context.DeadlineExceeded, func() {})
		return
	}
}

// meanwhile ends a call whose message is with the handler.
func meanwhile(t *trial, r *receiver, outcome chan error, want error, end func()) {
	if !t.face.promise().answers {
		require.NoError(t, await(t, outcome))
		end()
		r.open()
		t.isDone(r, 1) // it was accepted, so it is handled
		return
	}
	end()
	require.ErrorIs(t, await(t, outcome), want)
}

// verifyDrained closes a registration or subscription while it has a message:
// that is finished, and nobody is there afterwards.
func verifyDrained(t *trial) {
	r := newReceiver(false)
	c := t.receive(r, limits{})
	outcome := t.sending(t.context(), arke.Message{Body: []byte("1")})
	t.comes(r, outcome)
	closed := make(chan error, 1)
	ctx := t.context()
	go func() { closed <- c.Close(ctx) }()
	select {
	case err := <-closed:
		require.FailNow(t, "it did not wait for its handler", "%v", err)
	case <-time.After(little):
	}
	r.open()
	require.NoError(t, await(t, closed))
	require.NoError(t, await(t, outcome))
	t.isDone(r, 1)
	want := t.face.promise().nobody
	require.Eventually(t, func() bool { return sameError(t.send(ctx, arke.Message{}), want) }, patience, tick)
	t.quiet(r)
	require.NoError(t, c.Close(ctx), "again")
}

// verifyClosed checks that a program that was closed says so, whatever is asked
// of it.
func verifyClosed(t *trial) {
	m := t.Another(t.T)
	require.NoError(t, m.Close())
	requireClosed(t, m)
	require.NoError(t, m.Close(), "again")
}

// verifyShutDown checks that Shutdown finishes what was accepted, and that
// nothing works afterwards.
func verifyShutDown(t *trial) {
	m := t.Another(t.T)
	r := newReceiver(false)
	_, err := t.face.receive(t.context(), m, t.to, r, limits{})
	require.NoError(t, err)
	t.isKnown(m)
	outcome := t.sending(t.context(), arke.Message{Body: []byte("1")})
	t.comes(r, outcome)
	down := make(chan error, 1)
	ctx := t.context()
	go func() { down <- m.Shutdown(ctx) }()
	select {
	case err := <-down:
		require.FailNow(t, "it did not wait for its handler", "%v", err)
	case <-time.After(little):
	}
	r.open()
	require.NoError(t, await(t, down))
	require.NoError(t, await(t, outcome))
	t.isDone(r, 1)
	requireClosed(t, m)
}

func requireClosed(t *trial, m *arke.Conn) {
	t.Helper()
	require.ErrorIs(t, t.face.send(t.context(), m, t.to, arke.Message{}), arke.ErrClosed)
	_, err := t.face.receive(t.context(), m, t.to, newReceiver(true), limits{})
	require.ErrorIs(t, err, arke.ErrClosed)
}
