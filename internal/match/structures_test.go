// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import "github.com/arke-mesh/arke/internal/match"

// structure is what the five ways to match have in common.
type structure interface {
	Add(pattern string, v int)
	Remove(pattern string, v int)
	Match(topic string, dst []int) []int
	Len() int
}

var _ structure = (*match.Index[int])(nil)

// contestant is one way to match.
type contestant struct {
	name  string
	empty func() structure
}

// contestants are the five of the comparison in the package doc. The last one
// is the product's.
func contestants() []contestant {
	return []contestant{
		{"naive", func() structure { return new(naive) }},
		{"inverted", func() structure { return new(inverted) }},
		{"optimised", func() structure { return new(optimised) }},
		{"trie", func() structure { return new(lockedTrie) }},
		{"index", func() structure { return new(match.Index[int]) }},
	}
}
