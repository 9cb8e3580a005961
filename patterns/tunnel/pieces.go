// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// piece is how many of the next left bytes of a message go into one chunk, with
// so much credit. ok is false if the sender has to wait for more credit. A
// message without bytes is one empty chunk.
func piece(left, credit int) (n int, ok bool) {
	n = min(left, maxChunk)
	if cost(n) <= credit {
		return n, true
	}
	if credit < minPiece {
		return 0, false
	}
	return credit, true
}

// costOf is the credit that a whole message of n bytes uses up if there is
// enough for all of it.
func costOf(n int) int {
	whole, rest := n/maxChunk, n%maxChunk
	if rest > 0 || whole == 0 {
		return whole*maxChunk + cost(rest)
	}
	return whole * maxChunk
}
