// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNodesServeAndCall(t *testing.T) {
	// This test checks that twenty real nodes find each other and serve.
	perform(t, 20, func(t *testing.T, s *stage) {
		for i := 1; i < 20; i++ {
			s.serve(i)
		}
		took := s.until(20*time.Second, func() bool {
			for i := range s.nodes {
				if s.peers(i) < 19 {
					return false
				}
			}
			return true
		})
		t.Log("all know all after", took)
		seen := map[string]bool{}
		for range 200 {
			who, err := s.ask(0)
			require.NoError(t, err)
			seen[who] = true
		}
		require.Len(t, seen, 19)
	})
}
