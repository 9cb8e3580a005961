// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import "github.com/arke-mesh/arke/patterns/pubsub/inbox"

// Status describes the topics of this node. Counts are since the start.
type Status struct {
	Subscriptions int    `json:"subscriptions"`
	Groups        int    `json:"groups"`     // that this node has listened to
	Publishing    int    `json:"publishing"` // groups that this node publishes in
	Streams       int    `json:"streams"`    // publishers that are remembered
	Paths         int    `json:"paths"`      // sessions that are forwarded here
	Published     uint64 `json:"published"`  // messages
	Copies        uint64 `json:"copies"`     // of them and of forwarded ones, sent to other nodes
	Received      uint64 `json:"received"`   // copies from other nodes, for this one
	Forwarded     uint64 `json:"forwarded"`  // messages that were passed on
	Trees         uint64 `json:"trees"`      // made for groups that are published in

	Inboxes inbox.SetStatus `json:"inboxes"`
}

// Status describes the engine now.
func (e *Engine) Status() Status {
	e.mu.Lock()
	s := Status{
		Subscriptions: len(e.subs), Groups: len(e.groups), Publishing: len(e.courses), Streams: len(e.streams), Paths: len(e.legs),
	}
	e.mu.Unlock()
	s.Published, s.Copies = e.counts.published.Load(), e.counts.copies.Load()
	s.Received, s.Forwarded, s.Trees = e.counts.received.Load(), e.counts.forwarded.Load(), e.counts.trees.Load()
	s.Inboxes = e.inboxes.Status()
	return s
}

// Drops counts what went no further, by reason; reasons that never occurred
// are left out.
func (e *Engine) Drops() map[string]uint64 { return e.drops.ByName() }
