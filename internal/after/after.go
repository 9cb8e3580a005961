// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after

// List is what is to be done, in order. The zero value is empty. It belongs to
// one goroutine, or to an owner whose lock guards it until Take.
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

// Take returns what was added, and forgets it, so that others may add while it is
// done. The owner calls it before it releases the lock.
func (l *List) Take() (do List) {
	do, *l = *l, List{}
	return do
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
