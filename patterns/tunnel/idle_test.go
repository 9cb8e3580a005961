// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/patterns"
)

// busy has megabytes go both ways.
func busy(t *testing.T, tunnel *Tunnel) {
	t.Helper()
	for range 4 {
		sent := bytes.Repeat([]byte("busy"), 1<<18)
		go func() { _ = tunnel.Send(context.Background(), sent) }()
		var got bytes.Buffer
		_, err := tunnel.ReceiveTo(context.Background(), &got)
		require.NoError(t, err)
		require.Equal(t, len(sent), got.Len())
	}
}

// givesBack checks that the windows of a tunnel grow while it is busy, that all budgets on
// its way have them back after it was idle, but for the least, and that it is as good as
// new then.
func givesBack(t *testing.T, tunnel *Tunnel, budgets map[*credit.Budget]int) {
	t.Helper()
	for range 3 {
		busy(t, tunnel)
		for b, windows := range budgets {
			require.Greater(t, b.Used(), windows*credit.FirstWindow)
		}
		time.Sleep(3 * restTime)
		synctest.Wait()
		for b, windows := range budgets {
			require.Equal(t, windows*credit.PoorWindow, b.Used())
		}
	}
	for range 2 { // what can be sent as a whole only finds credit after a while
		require.ErrorIs(t, tunnel.TrySend(make([]byte, 4000)), patterns.ErrWouldBlock)
		time.Sleep(time.Second)
		require.NoError(t, tunnel.TrySend(make([]byte, 4000)))
		_, err := tunnel.Receive(t.Context())
		require.NoError(t, err)
		time.Sleep(3 * restTime)
	}
	require.NoError(t, roundTrips(tunnel, 1))
}

func TestAnIdleTunnelGivesItsWindowsBack(t *testing.T) {
	// This test has a tunnel busy and idle in turns, through a relay.
	inSplice(t, func(c *HopConfig) { c.BufferBytes = 64 << 20 }, func(t *testing.T, s *spliced) {
		givesBack(t, s.open(), map[*credit.Budget]int{s.client.engine.budget: 1, s.at.engine.budget: 1, s.hop.budget: 2})
		s.requireNothingLeft()
	})
}

func TestAnIdleTunnelGivesItsWindowsBackToAGateway(t *testing.T) {
	// This test has a tunnel busy and idle in turns whose gateway can't open it.
	synctest.Test(t, func(t *testing.T) {
		s := newPassed(t, 64<<20)
		givesBack(t, s.must(), map[*credit.Budget]int{s.opener.engine.budget: 1, s.at.engine.budget: 1, s.passages.budget: 2})
		s.requireNothingLeft()
	})
}

func TestWhatARelayKeptBackIsGivenBackToo(t *testing.T) {
	// This test has a relay whose windows are the smallest: the receivers have all of
	// theirs back, also what their senders never heard of.
	inSplice(t, func(c *HopConfig) { c.BufferBytes = 8 * credit.PoorWindow }, func(t *testing.T, s *spliced) {
		tunnel := s.open()
		time.Sleep(3 * restTime)
		synctest.Wait()
		for range 2 {
			require.Equal(t, 2*credit.PoorWindow, s.hop.budget.Used())
			require.Less(t, s.client.engine.budget.Used()+s.at.engine.budget.Used(), 2*credit.FirstWindow)
			require.NoError(t, tunnel.Send(t.Context(), make([]byte, 100)))
			_, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
			time.Sleep(3 * restTime)
			synctest.Wait()
		}
		require.NoError(t, roundTrips(tunnel, 1))
		s.requireNothingLeft()
	})
}

func TestCreditThatIsGivenBackMayMeetDataOnItsWay(t *testing.T) {
	// This test has all that a sender has left come before the word that it has given back
	// the rest: the receiver gives new credit, or both would wait for ever. Who gives back
	// more than he has breaks the protocol.
	inRig(t, false, func(t *testing.T, r *rig) {
		tunnel := r.open()
		total := uint64(tunnel.state.window.Size() - credit.PoorWindow)
		require.NoError(t, tunnel.state.hearData(credit.PoorWindow))
		_, err := tunnel.Receive(t.Context())
		require.NoError(t, err)
		require.Zero(t, tunnel.state.window.Held())
		require.NoError(t, tunnel.state.returned(total, tunnel.engine.budget))
		require.Zero(t, tunnel.state.window.Held())
		require.True(t, tunnel.state.window.Grant())
		require.NoError(t, tunnel.state.returned(total, tunnel.engine.budget), "again says nothing")
		require.ErrorIs(t, tunnel.state.returned(1<<40, tunnel.engine.budget), errNoCredit)
		_ = tunnel.Reset(patterns.CodeUnknown, "")
	})
}

// hearData takes in a message of n bytes.
func (s *state) hearData(n int) error {
	_, err := s.came(word{data: make([]byte, n), flags: 2})
	return err
}
