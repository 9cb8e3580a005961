// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// window is the receiving side's credit: what the other side may send, what
// came and was not read, and when to tell of more. It is a pure core: whoever
// owns it serialises the calls and brings the time.
type window struct {
	size   int    // given and held together may be so much
	given  int    // the other side may still send so much
	held   int    // came, and was not read
	streak int    // read since since
	since  int64  // ns; when the streak began
	total  uint64 // given, ever
}

func newWindow(size int) window { return window{size: size, given: size, total: uint64(size)} }

// came takes a chunk in. False: there was no credit for it.
func (w *window) came(n int) bool {
	if cost(n) > w.given {
		return false
	}
	w.given -= cost(n)
	w.held += cost(n)
	return true
}

// read notes that c of what was held was read.
func (w *window) read(c int) {
	w.held -= c
	w.streak += c
}

// due is the credit to tell the other side of now; 0 = not yet. Credit is told
// in few large pieces; if all that came was read, in smaller ones, so that the
// sender does not starve on what is kept back.
func (w *window) due() int {
	d := w.size - w.given - w.held
	enough := w.size / 4
	if w.held == 0 {
		enough = w.size / 16
	}
	if d < enough {
		return 0
	}
	return d
}

// give notes that the other side is told of d more.
func (w *window) give(d int) {
	w.given += d
	w.total += uint64(d)
}

// turned says whether a whole window was read since the last time it said so,
// and whether that was fast: the reader keeps up, and a larger window would
// have been of use.
func (w *window) turned(now int64) (whole, fast bool) {
	if w.streak < w.size {
		return false, false
	}
	fast = now-w.since <= int64(growTime) && w.held <= w.size/4
	w.streak, w.since = 0, now
	return true, fast
}

// lent is the memory that the other side can make this one use.
func (w *window) lent() int { return w.given + w.held }
