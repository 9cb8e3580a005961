// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/after"
)

// TestWhatWasAddedIsDoneInOrderAndOnce proves the order, also of what is added
// while others are done.
func TestWhatWasAddedIsDoneInOrderAndOnce(t *testing.T) {
	var do after.List
	var done []int
	do.Run()
	for i := range 4 {
		do.Add(func() { done = append(done, i) })
	}
	do.Add(func() { do.Add(func() { done = append(done, 9) }) })
	do.Run()
	do.Run()
	require.Equal(t, []int{0, 1, 2, 3, 9}, done)
}

// TestWhatIsTakenIsNotDoneTwice proves that an owner's list is empty once somebody has
// taken what was in it.
func TestWhatIsTakenIsNotDoneTwice(t *testing.T) {
	var owner after.List
	var done []int
	for i := range 2 {
		owner.Add(func() { done = append(done, i) })
	}
	do := owner.Take()
	owner.Add(func() { done = append(done, 9) })
	do.Run()
	require.Equal(t, []int{0, 1}, done)
	owner.Run()
	require.Equal(t, []int{0, 1, 9}, done)
}
