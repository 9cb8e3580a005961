// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package waitline

// Line is a line of those who wait. The zero value is empty and without a bound.
// Its owner's mutex guards it.
type Line struct {
	// Max bounds how many wait; 0 = no bound.
	Max int

	waiting []*Place // in the order of arrival
	visitor *Place   // looks whether there is room; the others wait until it has
	visit   int      // that may still be taken before those who wait, while visitor looks
}

// Place is a place in the line. Its fields are set before Join.
type Place struct {
	// Size is what it waits for.
	Size int
	// Visits says that it is promised nothing, but that nobody behind it comes
	// first until it has left.
	Visits bool
	// Granted, if not nil, is called under the owner's lock when the turn has
	// come.
	Granted func()
	// Wake is for the owner to call without the lock, when the turn has come or
	// when there is nothing to wait for any more.
	Wake func()

	granted bool
}

// HasTurn says whether the turn of p has come.
func (p *Place) HasTurn() bool { return p.granted }

// Join puts p at the end; false means that the line is full.
func (l *Line) Join(p *Place) bool {
	if l.Max > 0 && len(l.waiting) >= l.Max {
		return false
	}
	l.waiting = append(l.waiting, p)
	return true
}

// Passable says whether somebody who has not joined may take something now. Who
// does tells Took.
func (l *Line) Passable() bool {
	return len(l.waiting) == 0 || l.visitor != nil && l.visit > 0
}

// First is what the first one waits for; there must be one.
func (l *Line) First() (size int) { return l.waiting[0].Size }

// Took notes that size was taken. What a visitor came for can't be told from what
// others take, so it counts as the visitor's.
func (l *Line) Took(size int) { l.visit -= size }

// Leave takes p out of the line, and says whether it gives back what it was
// granted.
func (l *Line) Leave(p *Place) (back bool) {
	switch {
	case l.visitor == p:
		l.visitor = nil
		return false
	case p.granted:
		return !p.Visits
	}
	for i, each := range l.waiting {
		if each == p {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			break
		}
	}
	return false
}

// Next takes out the first one and returns it, if fits says that there is room
// for it; nil if not. A visitor stays until it leaves, and nobody comes behind it
// before.
func (l *Line) Next(fits func(size int) bool) *Place {
	if len(l.waiting) == 0 || l.visitor != nil || !fits(l.waiting[0].Size) {
		return nil
	}
	p := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	p.granted = true
	if p.Visits {
		l.visitor, l.visit = p, p.Size
	}
	return p
}

// Clear empties the line and returns who was in it; their turn never comes.
func (l *Line) Clear() []*Place {
	waiting := l.waiting
	l.waiting, l.visitor = nil, nil
	return waiting
}
