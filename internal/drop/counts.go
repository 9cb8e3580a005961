// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package drop

import (
	"fmt"
	"sync/atomic"
)

// Reason is an enumeration that begins at 0. String returns the name that the
// status shows; no two reasons of an enumeration have the same.
type Reason interface {
	~uint8
	fmt.Stringer
}

// Counts has a count for each reason. New makes it; copies count together, and
// methods may be called concurrently.
type Counts[R Reason] struct{ by []atomic.Uint64 }

// New returns counts for the reasons below end.
func New[R Reason](end R) Counts[R] { return Counts[R]{make([]atomic.Uint64, end)} }

// Inc counts one.
func (c Counts[R]) Inc(r R) { c.by[r].Add(1) }

// Add counts n at once.
func (c Counts[R]) Add(r R, n uint64) { c.by[r].Add(n) }

// ByName returns the counts of the reasons that have occurred.
func (c Counts[R]) ByName() map[string]uint64 {
	out := make(map[string]uint64)
	for r := range c.by {
		if n := c.by[r].Load(); n > 0 {
			out[R(r).String()] = n
		}
	}
	return out
}

// Names returns the names of the reasons below end, in their order.
func Names[R Reason](end R) []string {
	names := make([]string, 0, int(end))
	for r := R(0); r < end; r++ {
		names = append(names, r.String())
	}
	return names
}
