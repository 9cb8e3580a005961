// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

// line is the inboxes that wait for a worker, each at most once: first come,
// first served.
type line struct {
	first, last *Inbox
	n           int
}

func (l *line) push(b *Inbox) {
	if l.last == nil {
		l.first = b
	} else {
		l.last.next = b
	}
	l.last = b
	l.n++
}

func (l *line) pushFront(b *Inbox) {
	b.next = l.first
	if l.first = b; l.last == nil {
		l.last = b
	}
	l.n++
}

// pop returns the first one, or nil.
func (l *line) pop() *Inbox {
	b := l.first
	if b == nil {
		return nil
	}
	if l.first = b.next; l.first == nil {
		l.last = nil
	}
	b.next = nil
	l.n--
	return b
}
