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

	rung atomic.Bool  // since Wait has returned last
	at   atomic.Int64 // when, in ns after began

	promptness // owned by who waits
}

// one is what is added to the eventfd. Nobody ever reads that: each write is an event.
var one = [8]byte{1}

// New returns a Bell, or nil where there is none.
func New() *Bell {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil
	}
	b := &Bell{file: os.NewFile(uintptr(fd), "bell"), began: time.Now()}
	if b.raw, err = b.file.SyscallConn(); err == nil {
		err = b.file.SetDeadline(time.Time{}) // fails where the runtime does not watch it
	}
	if err != nil {
		b.file.Close()
		return nil
	}
	b.ring = func(fd uintptr) { // takes no time that the scheduler need know of
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&one[0])), uintptr(len(one)))
	}
	b.taken = func(uintptr) bool { return b.rung.CompareAndSwap(true, false) }
	return b
}

// Ring has Wait return, now or when it is called next. Ringing twice is ringing once.
func (b *Bell) Ring() {
	b.at.Store(time.Since(b.began).Nanoseconds())
	b.rung.Store(true)
	_ = b.raw.Control(b.ring)
}

// Trusts says whether who is about to wait should do so here: not where rings were heard
// late, but for a try now and then. What was rung before is forgotten.
func (b *Bell) Trusts() bool {
	b.rung.Store(false)
	return b.trusts()
}

// Wait returns once Ring was called since it has returned last. It is false after Close.
func (b *Bell) Wait() bool {
	if b.raw.Read(b.taken) != nil {
		return false
	}
	b.heard(time.Since(b.began) - time.Duration(b.at.Load()))
	return true
}

// Close ends a Wait that is under way. It may be called more than once.
func (b *Bell) Close() { _ = b.file.Close() }
