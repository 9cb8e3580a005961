// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package adversary, an inner part of Arke that makes no promise to users, makes
// a node of the simulator hostile: one that was admitted to the network, perhaps
// holds the keys of a cluster, and uses both to do harm.
//
// The node itself is the ordinary one. An Adversary stands between it and the
// network, behind the seam: it cuts what the node writes to its link streams, and
// what comes on them, into frames, and each passes the tactics. A tactic may
// change a frame, keep it back, hide it from the node, and invent others. It signs
// with the node's own key, proves and seals with the keys that it holds, and knows
// what its node hears; it has no other means.
//
// # The way of a frame
//
//  1. The node writes to a line (line.go), which is what it has in the place of a
//     stream. Each whole frame is shown to the tactics, one after the other.
//  2. What they make of it is written instead. Frames are numbered in the session
//     of a link, but not on the wire: a frame that is kept back leaves an empty one
//     (wire.KindVoid) in its place; one that is invented is taken out of all counts
//     that the peer tells (ledger.go), so that the node's session stays whole.
//  3. Ten times a second the tactics may write of their own accord, and once more when
//     their orders have ended, to take back what they said.
//  4. What comes is shown to the tactics before the node reads it.
//
// # Tactics
//
// lyingAnchor lies to watchers, forger speaks in the name of publishers,
// tamperer changes or repeats what it passes on for them, hoarder makes others hold things, smuggler
// lies about what its gateway carries. They are cores without goroutine, lock or stream, and
// look on until there is an order for one of their modes (scenario.Attacks). All that is
// random comes from the node's own streams, so a run replays.
//
// Near chooses a node's key so that it becomes an anchor of a cluster: several
// such nodes are a Sybil attack.
//
// # Goroutines
//
// One timer while an order stands. The node's readers and writers run the rest.
// Whoever writes to a line has its turn: no lock is held across a Write.
package adversary
