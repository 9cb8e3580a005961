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
	ctx, cancel := context.WithCancel(t.context())
	cancel()
	tooLate(ctx, t, context.Canceled)
}

// verifyDeadlineBefore sends when it is too late already: no handler runs.
func verifyDeadlineBefore(t *trial) {
	ctx, cancel := context.WithDeadline(t.context(), time.Now().Add(-time.Second))
	defer cancel()
	tooLate(ctx, t, context.DeadlineExceeded)
}

// tooLate sends with a context that has ended, and checks that no handler runs and that
// the error says that none can have run.
func tooLate(ctx context.Context, t *trial, want error) {
	r := t.receiver(true, limits{})
	require.NoError(t, t.send(t.context(), arke.Message{})) // that there is a way is known
	await(t, r.entered)
	err := t.send(ctx, arke.Message{})
	require.ErrorIs(t, err, want)
	var late *arke.DeadlineError
	require.ErrorAs(t, err, &late)
	require.False(t, late.MaybeRan)
	t.quiet(r)
}

// verifyCancelledMeanwhile cancels while the handler runs: who waits for an
// answer does not wait any longer.
func verifyCancelledMeanwhile(t *trial) {
	r := t.receiver(false, limits{})
	ctx, cancel := context.WithCancel(t.context())
	defer cancel()
	outcome := t.sending(ctx, arke.Message{Body: []byte("1")})
	t.comes(r, outcome)
	meanwhile(t, r, outcome, context.Canceled, cancel)
}

// verifyDeadlineMeanwhile has the deadline pass while the handler runs.
func verifyDeadlineMeanwhile(t *trial) {
	r := t.receiver(false, limits{})
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
	if !t.face.promise.answers {
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
	r := t.receiver(false, limits{})
	finishes(t, r, r.Close)
	ctx, want := t.context(), t.face.promise.nobody
	require.Eventually(t, func() bool { return sameError(t.send(ctx, arke.Message{}), want) }, patience, tick)
	t.quiet(r)
	require.NoError(t, r.Close(ctx), "again")
}

// finishes ends what has a message that it has accepted: it waits until that is handled.
func finishes(t *trial, r *receiver, end func(context.Context) error) {
	t.Helper()
	outcome := t.sending(t.context(), arke.Message{Body: []byte("1")})
	t.comes(r, outcome)
	ended := make(chan error, 1)
	ctx := t.context()
	go func() { ended <- end(ctx) }()
	select {
	case err := <-ended:
		require.FailNow(t, "it did not wait for its handler", "%v", err)
	case <-time.After(little):
	}
	r.open()
	require.NoError(t, await(t, ended))
	require.NoError(t, await(t, outcome))
	t.isDone(r, 1)
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
	finishes(t, r, m.Shutdown)
	requireClosed(t, m)
}

func requireClosed(t *trial, m *arke.Conn) {
	t.Helper()
	require.ErrorIs(t, t.face.send(t.context(), m, t.to, arke.Message{}), arke.ErrClosed)
	_, err := t.face.receive(t.context(), m, t.to, newReceiver(true), limits{})
	require.ErrorIs(t, err, arke.ErrClosed)
}
