// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

// BroadcastResult is how far a broadcast came.
type BroadcastResult struct {
	// Members is how many members have it in their queues, Nodes on how many
	// nodes they are.
	Members, Nodes int
	// Missing are the members that did not take it or did not say so in time,
	// in the order of their ids. With ErrInterrupted and a DeadlineError they
	// may have it nevertheless.
	Missing []Missing
	// Complete says that everybody who was a member when it was sent took it.
	Complete bool
}
