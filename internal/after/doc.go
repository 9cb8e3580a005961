// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package after is the idiom for deciding under a lock and acting once it is
// released, so that nothing that could block, or call back, happens while it is
// held:
//
//	var do after.List
//	mu.Lock()
//	…
//	do.Add(func() { close(w.ready) })
//	mu.Unlock()
//	do.Run()
//
// # Which one
//
//   - List is for anything: what is called with the lock held adds functions to it.
//   - Set is for what each message decides, where a closure would cost memory: flags,
//     which the owner carries out.
//   - InOrder is for what must be done in the order in which it was decided, whoever
//     decides: one goroutine at a time does what all have decided.
//
// The one thing that a function has decided itself, and a copy of what it then goes
// through, need none of them: they are variables of that function.
//
// # Not a core's actions
//
// A pure core (step(now, event) -> actions) knows no lock, and returns what it has
// decided as values of its own, which tests and scripts compare. This package begins
// where a shell has called a core, or changed something itself, with its lock held,
// and is for what must wait until that is released; a Set may hold a core's actions
// till then.
package after
