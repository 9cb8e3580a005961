// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

// Two nodes that dial each other at the same time get two streams. Both sides
// must choose the same one without asking: the one that the lower peer id
// opened. This file holds the decisions; they need no state but what the two
// Hellos said.

// streamFacts is what the choice depends on.
type streamFacts struct {
	outbound bool
	instance instanceID // the peer's
	clock    uint64     // in the peer's Hello
}

// verdict is what a new stream means for one that exists.
type verdict uint8

const (
	// verdictJoin: both belong to the same session.
	verdictJoin verdict = iota
	// verdictReplace: the peer has lost the old stream, even if we have not
	// noticed.
	verdictReplace
	// verdictStale: the peer had lost the new stream before it opened the old
	// one; it only arrived late.
	verdictStale
	// verdictDoubt: another instance. The peer was restarted, and the old
	// stream is dead; or two processes use the same peer id.
	verdictDoubt
)

// judge compares a new stream with one that is in use.
//
// Hello clocks of one instance grow with each Hello, and nobody opens a stream
// while one is in use. So of two streams that the peer opened, the one with
// the later clock counts. If we opened one and the peer the other, then the
// peer either opened its own before it answered ours, and the dials crossed;
// or after, because it had lost ours.
func judge(old, fresh streamFacts) verdict {
	switch later := fresh.clock > old.clock; {
	case old.instance != fresh.instance:
		return verdictDoubt
	case fresh.outbound && later:
		return verdictJoin
	case fresh.outbound:
		return verdictStale
	case later:
		return verdictReplace
	case old.outbound:
		return verdictJoin
	}
	return verdictStale
}

// preferred says whether a stream is the one to send on, if there are two: the
// one that the lower peer id opened.
func preferred(selfIsLower, outbound bool) bool { return selfIsLower == outbound }
