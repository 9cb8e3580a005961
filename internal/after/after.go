// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after

// List is what is to be done, in order. The zero value is empty. It belongs to
// one goroutine.
type List struct {
	first func() // most lists have one: it costs no memory
	rest  []func()
}

// Add has f called by Run.
func (l *List) Add(f func()) {
	if l.first == nil {
		l.first = f
		return
	}
	l.rest = append(l.rest, f)
}

// Run calls what was added, in order, and forgets it. What is added meanwhile is
// called too.
func (l *List) Run() {
	for l.first != nil {
		first, rest := l.first, l.rest
		l.first, l.rest = nil, nil
		first()
		for _, f := range rest {
			f()
		}
	}
}
