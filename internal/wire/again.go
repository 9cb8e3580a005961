// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// againBytes is how much memory of bodies that were kept is read into again, at most:
// nothing else bounds it while a program keeps what it gets.
const againBytes = 32 << 20

// again is memory for the bodies of long frames that somebody keeps, nobody knows for how
// long: a publication is its subscriber's. When nobody has any part of one any more, which
// the garbage collector finds out, it is read into again. So what is kept for a moment is
// little work for the collector: it does not have to look for each few MiB of it, nor does
// memory go back to the operating system to be asked for again. The zero value is ready;
// methods may be called concurrently.
type again struct {
	free sync.Pool    // of *againBody; the collector empties it if nobody uses it
	out  atomic.Int32 // in use, and will come back
}

type againBody [sharedSize]byte

// get returns a body that is not zero, or nil if as many are in use as may be.
func (a *again) get() *againBody {
	if a.out.Add(1) > againBytes/sharedSize {
		a.out.Add(-1)
		return nil
	}
	body, ok := a.free.Get().(*againBody)
	if !ok {
		body = new(againBody)
	}
	runtime.SetFinalizer(body, a.back)
	return body
}

// back takes a body that nobody can reach any more.
func (a *again) back(body *againBody) {
	a.free.Put(body)
	a.out.Add(-1)
}
