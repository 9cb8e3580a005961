// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package drop

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type reason uint8

const (
	late reason = iota
	full
	foreign
	reasons
)

func (r reason) String() string { return [...]string{"late", "full", "foreign"}[r] }

func TestOnlyReasonsThatHaveOccurredAreTold(t *testing.T) {
	// A status with a row of zeros for each bound would hide what matters.
	c := New(reasons)
	require.Empty(t, c.ByName())
	c.Inc(foreign)
	c.Add(late, 3)
	c.Add(full, 0)
	c.Inc(late)
	require.Equal(t, map[string]uint64{"late": 4, "foreign": 1}, c.ByName())
}

func TestCopiesCountTogether(t *testing.T) {
	// Who holds a copy counts for the status of its owner, too.
	c := New(reasons)
	held := c
	held.Inc(full)
	require.Equal(t, map[string]uint64{"full": 1}, c.ByName())
}

func TestNothingIsLostBetweenGoroutines(t *testing.T) {
	// Readers of several links drop at the same time.
	const goroutines, each = 8, 1000
	c := New(reasons)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				c.Inc(late)
				c.Add(full, 2)
			}
		})
	}
	wg.Wait()
	require.Equal(t, map[string]uint64{"late": goroutines * each, "full": 2 * goroutines * each}, c.ByName())
}
