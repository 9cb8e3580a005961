// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bucket is how many others a node knows in any case: those closest to it, which it asks
// for. Of more it knows whom it happens to meet.
const bucket = 16

func TestNodesOfASmallNetworkAllKnowEachOther(t *testing.T) {
	// This test starts as many nodes as have a place with each other: all know all.
	perform(t, bucket+1, func(t *testing.T, s *stage) {
		t.Log("all know all after", s.known(20*time.Second, bucket))
	})
}

func TestNodesServeAndCall(t *testing.T) {
	// This test checks that twenty real nodes find each other and serve.
	perform(t, 20, func(t *testing.T, s *stage) {
		for i := 1; i < 20; i++ {
			s.serve(i)
		}
		t.Log("each knows its neighbours after", s.known(20*time.Second, bucket))
		seen := map[string]bool{}
		for range 200 {
			who, err := s.ask(0)
			require.NoError(t, err)
			seen[who] = true
		}
		require.Len(t, seen, 19)
	})
}
