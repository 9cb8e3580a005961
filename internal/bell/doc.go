// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package bell wakes a goroutine by way of the operating system.
//
// A goroutine that another one wakes is runnable at once, and Go's scheduler wakes a
// thread for it if a processor is idle: it can't know that the one that wakes is about to
// wait itself. Where only these two have anything to do, that costs a futex, 5 µs on a
// machine of 2026, before the first of them goes on, and then two threads take turns. A
// goroutine that waits for a file is different: the thread that has nothing else to do
// asks the network, finds it, and runs it. So who waits at a Bell is woken by a write to
// an eventfd, of 0.5 µs.
//
// It is not for programs that are busy: there no processor is idle, waking costs little,
// and the network is asked last, up to 20 ms later. A Bell notes how late it is heard,
// and says whether to wait elsewhere (prompt.go).
//
// Where there is no eventfd, or it can't be made, New returns nil.
package bell
