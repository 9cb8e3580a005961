// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLedgersSeeWhatWentWrong(t *testing.T) {
	// This test checks that lost, repeated, disordered and damaged messages are
	// told apart, for each publisher, and that probes don't count.
	l := newLedgers(2, 16, &progress{every: 1000})
	b := body(16)
	send := func(publisher int, numbers ...uint64) {
		for _, n := range numbers {
			mark(b, publisher, n)
			l.take(b)
		}
	}
	send(0, probe)
	select {
	case <-l.connected:
		t.Fatal("connected before the second publisher's probe")
	default:
	}
	send(1, probe)
	<-l.connected
	send(0, 0, 1, 3, 2, 3, 5) // 4 is lost, 2 is late, 3 repeated
	send(1, 0, 1, 2)
	b[15]++
	l.take(b)
	l.take(b[:8])
	result := l.settle([]uint64{6, 3})
	require.Equal(t, Result{Received: 8, Lost: 1, Duplicated: 1, Disordered: 1, Damaged: 2}, result)
}

func TestWindowHoldsAPublisherBack(t *testing.T) {
	// This test checks that a publisher is never more than a window ahead of
	// the slowest subscriber, and goes on when that one does.
	w, err := newWindow(32)
	require.NoError(t, err)
	defer w.close()
	slow, err := newProgress(32, 1, []string{w.addr()})
	require.NoError(t, err)
	defer slow.close()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.heard[0]) == 1
	}, 5*time.Second, time.Millisecond)
	for n := range uint64(32) {
		require.True(t, w.take(0, n))
	}
	next := make(chan bool)
	go func() { next <- w.take(0, 32) }()
	select {
	case <-next:
		t.Fatal("a whole window is under way")
	case <-time.After(50 * time.Millisecond):
	}
	slow.note(0, 16)
	require.True(t, <-next)
	require.Zero(t, w.stalls())
}

func TestWindowGivesUpOnWhatIsLost(t *testing.T) {
	// This test checks that a window that stands still opens again, and is
	// counted.
	w, err := newWindow(16)
	require.NoError(t, err)
	defer w.close()
	for n := range uint64(17) {
		require.True(t, w.take(0, n))
	}
	require.Equal(t, 1, w.stalls())
}
