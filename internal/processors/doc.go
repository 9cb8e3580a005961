// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package processors lets a relay use as many processors as its load needs.
//
// Go's scheduler wakes another thread whenever there may be something to do.
// With little to do that thread looks around and sleeps again, which costs the
// program more than the message it was woken for, and takes the processor from
// the service that the relay stands beside. A program that may use one processor
// has no such thread. So a relay begins with one once it is ready, doubles when
// it has used them up for a tenth of a second, and halves when half of them
// would have done for five seconds.
//
// What the relay can use at the most is what it could when Pace was called: all
// processors, or what a container allows. One goroutine looks ten times a
// second, until it is told to stop; each change stops the program for less than
// a millisecond. The setting belongs to the process: only a program may use this,
// never a library.
package processors
