// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "sync"

// LentFrom is from which length on, in bytes, the chunk of a TunnelData has memory of its
// own: Bodies that are shared, or little more than it.
const LentFrom = 48<<10 - tunnelHeadSize

const (
	// sharedFrom is from which length on the body of a TunnelData is read into
	// shared memory: below it would keep much more than it holds.
	sharedFrom = LentFrom + tunnelHeadSize
	// sharedSize is the capacity of what is shared. A frame that was foreseen makes it
	// shorter by the frame's head, and who gives back the chunk of a TunnelData, and not
	// its body, by that head: it is good for some hundred times.
	sharedSize = 72 << 10
)

// Bodies is memory for the bodies of long messages, which are many and short-lived: those
// that somebody puts back, and those that a program keeps for a while. A stream of them is
// then no work for the garbage collector, or little; it empties Bodies that nobody uses.
// Methods may be called concurrently.
type Bodies struct {
	p sync.Pool

	once  sync.Once
	again *again // apart, as what is kept holds on to it
}

// shares says whether memory of n bytes comes from b, which may be nil.
func (b *Bodies) shares(n int) bool { return b != nil && n >= sharedFrom && n <= sharedSize }

// Passing returns n bytes for what is not likely to be kept. If it is not, Put takes it.
// b may be nil.
func (b *Bodies) Passing(n int) []byte {
	if !b.shares(n) {
		return make([]byte, n)
	}
	return b.get(n)
}

// get returns n bytes, at most MaxFrame, for Put to take.
func (b *Bodies) get(n int) []byte {
	if back, ok := b.p.Get().(*[]byte); ok && cap(*back) >= n {
		return (*back)[:n]
	}
	if body := b.kept().get(); body != nil {
		return body[:n]
	}
	return make([]byte, n, sharedSize)
}

// Kept returns n bytes for what is likely to be kept: then they come back by themselves.
// b may be nil.
func (b *Bodies) Kept(n int) []byte {
	if !b.shares(n) {
		return make([]byte, n)
	}
	if body := b.kept().get(); body != nil {
		return body[:n:n]
	}
	return make([]byte, n)
}

func (b *Bodies) kept() *again {
	b.once.Do(func() { b.again = new(again) })
	return b.again
}

// Put takes a body, or the chunk in it, that nobody uses any more. What did not
// come from Bodies is most likely too short, and left alone.
func (b *Bodies) Put(body []byte) {
	if cap(body) > tunnelHeadSize+MaxChunk && cap(body) <= sharedSize {
		kept := body // what is not kept costs no memory
		b.p.Put(&kept)
	}
}
