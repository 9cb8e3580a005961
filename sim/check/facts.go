// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// facts are a history with what measures and checkers need to know of it, each
// part by what it is about. A part knows the history and the parts above it; a
// checker is given the part that it looks at, and no other. They never change
// after newFacts, and take nonsense in a history for granted.
type facts struct {
	lives    *lives
	members  *registrations
	calm     *disturbance
	requests *requests
	topics   *topics
	views    *viewMeasures
}

func newFacts(h *history.History, r *Rules) *facts {
	f := &facts{lives: newLives(h)}
	f.members = newRegistrations(f.lives)
	f.calm = newDisturbance(f.members, r)
	f.requests = newRequests(f.members, f.calm, r)
	f.topics = newTopics(f.lives, f.calm, r)
	f.views = newViewMeasures(f.calm)
	(&observers{h, f.lives, f.members}).each(f.views.see)
	return f
}
