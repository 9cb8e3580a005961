// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"syscall"
	"time"
)

// prSetTimerSlack is the prctl that says how late a sleep may end.
const prSetTimerSlack = 29

// sleeper waits with the kernel's precision on a thread of its own.
type sleeper struct{ timer *time.Timer }

// newSleeper ties the calling goroutine to its thread until close.
func newSleeper() *sleeper {
	runtime.LockOSThread()
	slack(1) // ns; the default is 50 µs
	return &sleeper{timer: time.NewTimer(time.Hour)}
}

func (s *sleeper) close() {
	s.timer.Stop()
	slack(0) // back to the thread's default
	runtime.UnlockOSThread()
}

// nap sleeps about d, or less when a signal arrives.
func (s *sleeper) nap(d time.Duration) {
	ts := syscall.NsecToTimespec(d.Nanoseconds())
	_ = syscall.Nanosleep(&ts, nil) // the caller looks at the clock again
}

func slack(ns uintptr) {
	// Without it sleeps are 50 µs late: worse, but not wrong.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, ns, 0)
}
