// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

func TestALostLinkIsNotHeldAgainstTheMember(t *testing.T) {
	// This test cuts the link in the middle of a request: the link's state
	// says all there is to say, so the member is not ejected besides.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", stuck, patterns.Limits{})
		w.later(100*time.Millisecond, func() { w.cut(caller, host) })
		_, err := do(caller, body("x"))
		require.Equal(t, patterns.ErrInterrupted, err)
		require.Len(t, w.done, 1)
		require.Equal(t, wire.OutcomeCancelled, w.done[0].Outcome)
	})
}

func TestANodeThatHangsAtTheDoorIsHeldAgainstTheMember(t *testing.T) {
	// This test has a dial neither succeed nor fail: nothing below says that
	// the member is of no use, so the request does.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		w.cut(caller, host)
		w.set(caller, host, func(l *fakeLink) { l.hang = true })
		_, err := caller.engine.Do(within(t, 1500*time.Millisecond), "geo", body("x"), patterns.RequestOptions{})
		require.Equal(t, &patterns.DeadlineError{Cause: context.DeadlineExceeded}, err)
		require.Equal(t, cluster.Result{Outcome: wire.OutcomeFailed, Latency: time.Second}, w.done[0])
	})
}
