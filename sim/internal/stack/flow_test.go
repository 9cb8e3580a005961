// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/link"
)

func TestWhatAClogHoldsKeepsItsOrder(t *testing.T) {
	// This test clogs a path while something is under way on it, and sends more at
	// once: all of it comes in the order in which it was sent, after the clog.
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(1, link.Model{Latency: 5 * time.Millisecond})
		n.mu.Lock()
		from, to := n.machine("a").boot(), n.machine("b").boot()
		sender, receiver := connect(from, to, 1, 2)
		way := n.path(from.machine, to.machine)
		n.mu.Unlock()
		clog := func(on bool) {
			n.mu.Lock()
			defer n.mu.Unlock()
			way.set(&way.clogged, on)
		}

		say := func(s string) {
			_, err := sender.Write([]byte(s))
			require.NoError(t, err)
		}
		say("under way, ")
		time.Sleep(time.Millisecond)
		clog(true)
		say("held, ")
		time.Sleep(time.Second)
		clog(false)
		say("behind it")
		require.NoError(t, sender.CloseWrite())
		got, err := io.ReadAll(receiver)
		require.NoError(t, err)
		require.Equal(t, "under way, held, behind it", string(got))
	})
}
