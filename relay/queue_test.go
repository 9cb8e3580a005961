// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// TestPublicationsThatWaitAreCopiesInOrder proves that a queue hands out what was
// pushed, in order, whatever became of the memory that it came in, and that it
// uses its own again.
func TestPublicationsThatWaitAreCopiesInOrder(t *testing.T) {
	q := queue{pool: &shelves{}}
	frame := make([]byte, 3*shelfSize)
	tail := func(n int) []byte {
		return bytes.Repeat([]byte{byte(n)}, []int{0, 1, 1000, shelfSize, 2 * shelfSize}[n%5])
	}
	pushed, popped := 0, 0
	for round := range 200 {
		for range round % 7 {
			m := wire.LeafPublish{ID: uint64(pushed), Topic: "a.b", Tail: frame[:copy(frame, tail(pushed))]}
			q.push(&m)
			clear(frame)
			pushed++
		}
		for range round % 5 {
			if q.len() == 0 {
				break
			}
			m := *q.first()
			require.Equal(t, uint64(popped), m.ID)
			require.Equal(t, tail(popped), append([]byte{}, m.Tail...))
			require.Equal(t, len("a.b")+len(tail(popped)), q.pop())
			popped++
		}
	}
	for q.len() > 0 {
		q.pop()
	}
	require.Nil(t, q.last)
}

// TestWaitingAllocatesLittle proves that a queue which is filled and emptied again
// and again allocates nothing, also of messages of 64 KiB.
func TestWaitingAllocatesLittle(t *testing.T) {
	for body, several := range map[int]int{1 << 10: 10, 64 << 10: 1} { // in one shelf
		q := queue{pool: &shelves{}}
		m := wire.LeafPublish{Topic: "a.b", Tail: wire.AppendTail(nil, nil, make([]byte, body))}
		require.Less(t, testing.AllocsPerRun(1000, func() {
			for range several {
				q.push(&m)
			}
			for q.len() > 0 {
				q.pop()
			}
		}), 1.0, "%d bytes", body)
	}
}
