// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyWhoIsAloneWaitsAtTheBell proves that a caller waits at the bell while no other
// one waits, and that there is none where the configuration has none, or after the end.
func TestOnlyWhoIsAloneWaitsAtTheBell(t *testing.T) {
	a := alone{on: true}
	first, second := newWaiter(nil), newWaiter(nil)
	a.enter(first)
	require.NotNil(t, first.bell)
	a.enter(second)
	require.Nil(t, second.bell)
	a.leave(first)
	require.Nil(t, first.bell)
	a.enter(first)
	require.Nil(t, first.bell, "the second one still waits")
	a.leave(second)
	a.leave(first)
	a.enter(second)
	require.NotNil(t, second.bell)
	a.close()
	a.leave(second)

	off, late := alone{}, alone{on: true}
	off.enter(first)
	require.Nil(t, first.bell)
	late.close()
	late.enter(first)
	require.Nil(t, first.bell)
}
