// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"syscall"
	"time"
)

// realSince is time.Since in a bubble, whose clock is not the machine's.
func realSince(t time.Time) time.Duration {
	var tv syscall.Timeval
	_ = syscall.Gettimeofday(&tv)
	return time.Unix(tv.Sec, tv.Usec*1000).Sub(t.Round(0))
}

// processorTime is what this process has used so far, of all processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
