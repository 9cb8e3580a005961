// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bell

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/internal/nowait"
)

// Bell is what one goroutine at a time waits at. Ring and Close may be called
// concurrently.
type Bell struct {
	// Immutable after New. The functions are made once: they are called often.
	file  *os.File
	raw   syscall.RawConn
	ring  func(fd uintptr)
	taken func(fd uintptr) bool
	began time.Time
	one   uint64 // what is added to the eventfd; nobody reads that: each write is an event

	rung atomic.Bool  // and no Wait has returned since
	at   atomic.Int64 // when, in ns after began

	promptness // owned by who waits
}

// New returns a Bell, or nil where there is none.
func New() *Bell {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil
	}
	file, raw, err := nowait.Watched(fd, "bell")
	if err != nil {
		return nil
	}
	b := &Bell{file: file, raw: raw, began: time.Now(), one: 1}
	b.ring = func(fd uintptr) { // takes no time that the scheduler need know of
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&b.one)), unsafe.Sizeof(b.one))
	}
	b.taken = func(uintptr) bool { return b.rung.CompareAndSwap(true, false) }
	return b
}

// Ring has the Wait return that was begun, now or when it is called. Ringing twice is
// ringing once.
func (b *Bell) Ring() {
	b.at.Store(time.Since(b.began).Nanoseconds())
	b.rung.Store(true)
	_ = b.raw.Control(b.ring)
}

// Begin says whether who is about to wait should do so here: not where rings were heard
// late, but for a try now and then. It forgets what was rung before, so who is to ring must
// not know yet that somebody waits.
func (b *Bell) Begin() bool {
	b.rung.Store(false)
	return b.trusts()
}

// Wait returns once Ring was called since Begin, or since it has returned last. It may
// return when somebody else has rung late for an earlier one. It is false after Close.
func (b *Bell) Wait() bool {
	if b.raw.Read(b.taken) != nil {
		return false
	}
	b.heard(time.Since(b.began) - time.Duration(b.at.Load()))
	return true
}

// Close ends a Wait that is under way. It may be called more than once.
func (b *Bell) Close() { _ = b.file.Close() }
