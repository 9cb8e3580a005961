// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package waitline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/waitline"
)

// room says that n are free.
func room(n int) func(int) bool { return func(size int) bool { return size <= n } }

// TestNobodyIsOvertaken proves the order, that a small one does not pass a large
// one, and that who leaves lets the next one come.
func TestNobodyIsOvertaken(t *testing.T) {
	l := waitline.Line{Max: 3}
	large, small, last := &waitline.Place{Size: 5}, &waitline.Place{Size: 1}, &waitline.Place{Size: 1}
	require.True(t, l.Passable())
	for _, p := range []*waitline.Place{large, small, last} {
		require.True(t, l.Join(p))
	}
	require.False(t, l.Join(&waitline.Place{}), "the line is full")
	require.False(t, l.Passable())
	require.Nil(t, l.Next(room(4)))
	require.False(t, l.Leave(large))
	require.Same(t, small, l.Next(room(4)))
	require.True(t, small.HasTurn())
	require.True(t, l.Leave(small), "it gives back what it has")
	require.Equal(t, []*waitline.Place{last}, l.Clear())
	require.False(t, last.HasTurn())
}

// TestAVisitorIsPromisedNothing proves that nobody behind a visitor comes first
// until it has left, but for as much as it came for.
func TestAVisitorIsPromisedNothing(t *testing.T) {
	var l waitline.Line
	visitor, behind := &waitline.Place{Size: 3, Visits: true}, &waitline.Place{Size: 1}
	l.Join(visitor)
	l.Join(behind)
	require.Same(t, visitor, l.Next(room(9)))
	require.Nil(t, l.Next(room(9)))
	require.True(t, l.Passable())
	l.Took(3)
	require.False(t, l.Passable())
	require.False(t, l.Leave(visitor))
	require.Same(t, behind, l.Next(room(9)))
}
