// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match

import "slices"

// node is one way to go on from a fork. It is a leaf, which holds the values of
// one pattern and all that is left of it, or it has a fork of its own. Nodes
// never change: a writer replaces them. What is below their forks does change.
type node[V comparable] struct {
	// label begins with the word that leads here. It is what is left of the
	// leaf's pattern, or, of a node with a fork, one word.
	label string
	fork  *fork[V]
	// The values of the pattern that ends here: those of set; if there is
	// none, a leaf has the value one, and a node with a fork has no values.
	one V
	set *bag[V]
}

// values appends n's own values.
func (n *node[V]) values(dst []V) []V {
	switch {
	case n.set != nil:
		return append(dst, n.set.values...)
	case n.fork == nil:
		return append(dst, n.one)
	}
	return dst
}

// match appends the values at and below n, which stands for word i of the path.
// Of n's label, as much as is said by used is known to match.
func (n *node[V]) match(p *path, i, used int, dst []V) []V {
	end := i+1 == p.words
	switch {
	case n.fork != nil && !end:
		return n.fork.match(p, i+1, dst)
	case n.fork != nil:
		return n.values(dst)
	case end != (len(n.label) == used):
		return dst
	case end || Matches(n.label[used+1:], p.topic[p.start(i+1):]):
		return n.values(dst)
	}
	return dst
}

// begins says whether n's label begins with that word.
func (n *node[V]) begins(word string) bool {
	l := len(word)
	return len(n.label) >= l && n.label[:l] == word && (len(n.label) == l || n.label[l] == '.')
}

// with returns n with one value more, at the end.
func (n *node[V]) with(v V) *node[V] {
	set := &bag[V]{}
	switch {
	case n.set != nil:
		// Readers of the old bag don't look beyond its end, and there is only
		// one newest bag to append to.
		*set = bag[V]{append(n.set.values, v), n.set.skipped}
	case n.fork == nil:
		set.values = []V{n.one, v}
	default:
		set.values = []V{v}
	}
	return &node[V]{label: n.label, fork: n.fork, set: set}
}

// without returns n with one v less, nil if nothing is left of it, and whether
// there was a v.
func (n *node[V]) without(v V) (left *node[V], found bool) {
	if n.set == nil {
		if n.fork == nil && n.one == v {
			return nil, true
		}
		return n, false
	}
	values := n.set.values
	i := slices.Index(values, v)
	if i < 0 {
		return n, false
	}
	left = &node[V]{label: n.label, fork: n.fork}
	switch {
	case len(values) == 1 && (n.fork == nil || n.fork.empty()):
		return nil, true
	case len(values) == 1:
	case len(values) == 2 && n.fork == nil:
		left.one = values[1-i]
	default:
		left.set = n.set.without(i)
	}
	return left, true
}

// bag is several values, in the order in which they were added.
type bag[V comparable] struct {
	values  []V
	skipped int // how many before the first of values are in memory still
}

// without returns the bag without its value i. The first one goes without a
// copy, so that the many subscriptions of one pattern end in no time in the
// order in which they came; the bag is copied when half of it is dead.
func (b *bag[V]) without(i int) *bag[V] {
	if i == 0 && b.skipped < len(b.values) {
		return &bag[V]{b.values[1:], b.skipped + 1}
	}
	return &bag[V]{values: slices.Concat(b.values[:i], b.values[i+1:])}
}
