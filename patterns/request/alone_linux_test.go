// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyWhoIsAloneWaitsAtTheBell proves that a caller waits at the bell once eight calls
// in a row have met no other one, and that none is made where the configuration has none,
// or after the end.
func TestOnlyWhoIsAloneWaitsAtTheBell(t *testing.T) {
	w, other := newWaiter(nil), newWaiter(nil)
	rings := func(a *alone, calls int) (n int) {
		for range calls {
			a.enter(w)
			if w.bell != nil {
				n++
			}
			a.leave(w)
		}
		return n
	}
	a := alone{on: true}
	require.Equal(t, 2, rings(&a, 10))
	a.enter(w)
	require.NotNil(t, w.bell)
	a.enter(other)
	require.Nil(t, other.bell)
	a.leave(w)
	require.Zero(t, rings(&a, 5), "the other one still waits")
	a.leave(other)
	require.Equal(t, 12, rings(&a, 20))
	a.close()
	require.False(t, a.bell.Wait())

	require.Zero(t, rings(&alone{}, 20))
	late := alone{on: true}
	late.close()
	require.Zero(t, rings(&late, 20))
}
