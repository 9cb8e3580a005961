// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

// owing is a set of statements in the order in which they came in. All it does takes the
// same short time, however many there are. The zero value is empty.
type owing struct {
	at    map[statementName]uint64 // where it is in queue, counted from the beginning
	queue []owed                   // what at does not name is out
	next  uint64
}

type owed struct {
	name statementName
	at   uint64
}

func (o *owing) empty() bool { return len(o.at) == 0 }

// add puts a statement at the end, unless it is in.
func (o *owing) add(n statementName) {
	if _, in := o.at[n]; in {
		return
	}
	if o.at == nil {
		o.at = make(map[statementName]uint64)
	}
	if len(o.queue) > 16+2*len(o.at) {
		o.tidy()
	}
	o.next++
	o.at[n] = o.next
	o.queue = append(o.queue, owed{n, o.next})
}

func (o *owing) remove(n statementName) { delete(o.at, n) }

// first is the one that came in first.
func (o *owing) first() (statementName, bool) {
	for len(o.queue) > 0 {
		if e := o.queue[0]; o.at[e.name] == e.at {
			return e.name, true
		}
		o.queue = o.queue[1:]
	}
	return statementName{}, false
}

// tidy takes out of the queue what is out.
func (o *owing) tidy() {
	kept := o.queue[:0]
	for _, e := range o.queue {
		if o.at[e.name] == e.at {
			kept = append(kept, e)
		}
	}
	clear(o.queue[len(kept):])
	o.queue = kept
}
