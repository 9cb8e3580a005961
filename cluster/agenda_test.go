// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// thing is what something is planned for.
type thing struct{ slot }

// This test checks that an agenda brings up what a list that is sorted anew each
// time would: the earliest plan of each thing, those of one time in the order in
// which they were made, and nothing that was cancelled.
func TestAgendaBringsUpTheEarliestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a agenda[*thing]
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	things := make([]*thing, 50)
	for i := range things {
		things[i] = &thing{}
	}
	type wish struct {
		what *thing
		at   time.Time
	}
	var wishes []wish // in the order in which they were made
	earliest := func() []wish {
		all := slices.Clone(wishes)
		slices.SortStableFunc(all, func(a, b wish) int { return a.at.Compare(b.at) })
		return all
	}
	now := begin
	for range 5000 {
		what := things[random.IntN(len(things))]
		i := slices.IndexFunc(wishes, func(w wish) bool { return w.what == what })
		require.Equal(t, i >= 0, what.slot != 0)
		switch random.IntN(4) {
		case 0, 1:
			at := now.Add(time.Duration(random.IntN(20)) * time.Second)
			a.plan(what, at)
			if i < 0 {
				wishes = append(wishes, wish{what, at})
			} else if at.Before(wishes[i].at) {
				wishes[i].at = at
			}
		case 2:
			a.cancel(what)
			if i >= 0 {
				wishes = slices.Delete(wishes, i, i+1)
			}
		case 3:
			now = now.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
			var want []*thing
			for _, w := range earliest() {
				if !now.Before(w.at) {
					want = append(want, w.what)
				}
			}
			got := a.due(now)
			require.True(t, slices.Equal(want, got))
			wishes = slices.DeleteFunc(wishes, func(w wish) bool { return !now.Before(w.at) })
		}
		var first time.Time
		if all := earliest(); len(all) > 0 {
			first = all[0].at
		}
		require.Equal(t, first, a.next())
	}
}

// This test checks that a plan for no time is none.
func TestAgendaPlansNothingForNoTime(t *testing.T) {
	var a agenda[*thing]
	var one thing
	a.plan(&one, time.Time{})
	require.Zero(t, one.slot)
	require.True(t, a.next().IsZero())
}
