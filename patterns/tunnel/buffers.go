// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import "sync"

const (
	// shortChunk is below what length a chunk for a relay is copied into memory
	// that goes round; longer ones are read into such memory by the link.
	shortChunk = 16 << 10
	// bufferStep is what the capacities of buffers are multiples of, in bytes.
	bufferStep = 64
	// spareBytes bounds the memory of buffers that nobody uses.
	spareBytes = 1 << 20
)

// buffers are for the short chunks that wait for a relay: its writer gives them
// back when they are on their way, so that what passes through makes no garbage.
// The zero value is ready; methods may be called concurrently.
type buffers struct {
	mu    sync.Mutex
	spare [shortChunk/bufferStep + 1][][]byte // by capacity
	bytes int                                 // of spare
}

// copyOf returns a copy of a chunk that is shorter than shortChunk.
func (b *buffers) copyOf(chunk []byte) []byte {
	steps := (len(chunk) + bufferStep - 1) / bufferStep
	b.mu.Lock()
	var buffer []byte
	if kept := b.spare[steps]; len(kept) > 0 {
		buffer = kept[len(kept)-1]
		kept[len(kept)-1] = nil
		b.spare[steps] = kept[:len(kept)-1]
		b.bytes -= cap(buffer)
	}
	b.mu.Unlock()
	if buffer == nil {
		buffer = make([]byte, 0, steps*bufferStep)
	}
	return append(buffer[:0], chunk...)
}

// put takes a buffer that nobody uses any more; what is none is left to the
// garbage collector.
func (b *buffers) put(buffer []byte) {
	size := cap(buffer)
	if size == 0 || size > shortChunk || size%bufferStep != 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes+size <= spareBytes {
		b.bytes += size
		b.spare[size/bufferStep] = append(b.spare[size/bufferStep], buffer)
	}
}
