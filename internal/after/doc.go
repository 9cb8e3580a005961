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
package after
