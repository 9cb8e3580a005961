// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package notice

import "slices"

// Many tells when a number has become large, and when it no longer is: below half of
// what made it so, or each change near the bound would be told. Pure core.
type Many struct {
	// From is what is many.
	From int
	is   bool
}

// Step takes in the number. Of the results one is true at most.
func (m *Many) Step(n int) (became, ceased bool) {
	switch {
	case !m.is && n >= m.From:
		m.is = true
		return true, false
	case m.is && n < (m.From+1)/2:
		m.is = false
		return false, true
	}
	return false, false
}

// Changes tells what has come into a set, and what has gone from it, between two looks.
// Pure core; the zero value is an empty set.
type Changes[T comparable] struct {
	set []T
}

// Step takes in what the set holds now. The results are in the order of the sets that
// they are from.
func (c *Changes[T]) Step(set []T) (came, gone []T) {
	for _, each := range set {
		if !slices.Contains(c.set, each) {
			came = append(came, each)
		}
	}
	for _, each := range c.set {
		if !slices.Contains(set, each) {
			gone = append(gone, each)
		}
	}
	c.set = slices.Clone(set)
	return came, gone
}
