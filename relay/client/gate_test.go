// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that a gate that is shut lets nobody in, and is empty when the
// last one has left, whoever tries to enter meanwhile.
func TestAShutGateIsEmptyWhenTheLastOneHasLeft(t *testing.T) {
	empty := newGate()
	<-empty.close()
	require.False(t, empty.enter())
	<-empty.close()

	g := newGate()
	require.True(t, g.enter())
	require.True(t, g.enter())
	done := g.close()
	require.False(t, g.enter())
	g.leave()
	select {
	case <-done:
		t.Fatal("somebody is inside")
	default:
	}
	g.leave()
	<-done

	for range 100 {
		g := newGate()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for g.enter() {
					g.leave()
				}
			})
		}
		<-g.close()
		wg.Wait()
	}
}
