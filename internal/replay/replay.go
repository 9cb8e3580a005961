// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import "sort"

// Size is how many serials a Window remembers one by one.
const Size = 512

// Window remembers the serials of one sender in one life of it: the newest Size of
// them, and a floor, up to which all are refused. So what comes may be that much out
// of order, and nothing is ever taken twice. The zero Window has seen nothing. It is
// not for several goroutines.
type Window struct {
	floor uint64
	seen  []uint64 // ascending
}

// Raise has serials up to that one refused.
func (w *Window) Raise(floor uint64) {
	if floor <= w.floor {
		return
	}
	w.floor = floor
	n := sort.Search(len(w.seen), func(i int) bool { return w.seen[i] > floor })
	w.seen = w.seen[:copy(w.seen, w.seen[n:])]
}

// Below says whether the serial is refused for its age.
func (w *Window) Below(serial uint64) bool { return serial <= w.floor }

// Newest is the largest serial that was seen, or the floor.
func (w *Window) Newest() uint64 {
	if n := len(w.seen); n > 0 {
		return w.seen[n-1]
	}
	return w.floor
}

// Fresh says whether the serial was not seen before, and is above the floor, and
// remembers it.
func (w *Window) Fresh(serial uint64) bool {
	if serial <= w.floor {
		return false
	}
	i := len(w.seen)
	if i > 0 && w.seen[i-1] >= serial {
		if i = sort.Search(i, func(i int) bool { return w.seen[i] >= serial }); w.seen[i] == serial {
			return false
		}
	}
	switch {
	case len(w.seen) < Size:
		w.seen = append(w.seen, 0)
		copy(w.seen[i+1:], w.seen[i:])
		w.seen[i] = serial
	case i == 0:
		w.floor = serial
	default:
		w.floor = w.seen[0]
		copy(w.seen, w.seen[1:i])
		w.seen[i-1] = serial
	}
	return true
}
