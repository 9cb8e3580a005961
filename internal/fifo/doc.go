// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package fifo holds the queue that every layer uses for what waits for its
// turn: first in, first out, in a ring that grows with what is in it.
//
// It is a container and decides nothing. Its owner bounds it — by credit, by
// length, by bytes — before it pushes, names what it drops, and serialises the
// calls.
//
// What a queue may be relied upon for:
//
//   - Push and Pop take constant time on average, however long the queue is and
//     however long it has not been empty.
//   - What was popped is forgotten at once: no queue keeps a buffer alive that it
//     has handed out.
//   - A queue that is empty again keeps the places of at most 16 values, so that
//     one that is filled and emptied in turn does not allocate. Release gives
//     those back, too, for owners that are idle for long and many; a queue that
//     never held anything has no memory.
//
// It is not for goroutines to meet at, which is what channels are for, nor where
// values leave from the middle or wait by priority.
package fifo
