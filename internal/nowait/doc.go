// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package nowait makes calls to sockets that never wait: it writes what the kernel
// takes at once, so that whoever has something to send can write it without ever being
// held up, and it reads and writes without telling Go's scheduler, where nobody needs
// to know.
//
// A goroutine tells the scheduler of each system call, since it may take long. That is
// not free where messages come one at a time: while a program has nothing to do, the
// runtime's monitor sleeps, and the first call after that wakes it, which is a system
// call by itself, made before the message is read; then the monitor takes a look around
// and sleeps again. The monitor is there for programs: it interrupts a goroutine that
// computes for long. A process that only forwards has none of these, so it uses Calls,
// and tells of one read in ten milliseconds, for what is busy all the time.
package nowait
