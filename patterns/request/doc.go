// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package request, an inner part of Arke that makes no promise to users, is the request
// pattern: one message to one member of a cluster, one outcome back. It has both halves: the
// callers of a node and its members. Package patterns has the promises and the table of
// outcomes.
//
// The patterns that address a cluster are built on it. A survey is a request to every member;
// pushes, broadcasts and the openings of tunnels are messages of the same form that the
// member's node answers early. Their packages contain the differences.
//
// It does not choose members (package cluster does), and knows no transport: it uses the
// layers below through the small interfaces of network.go. The same engine runs in a node and,
// as a Leaf, in a program beside a relay.
//
// # The path of a request
//
//  1. Engine.Ask, on the caller's goroutine, or Engine.Start gets the route to the cluster
//     (its watch, keys and retry budget), and waits for a view if there is none.
//  2. The cluster layer picks a member that the plan does not exclude. An attempt gets an id,
//     is registered at its peer, and leaves on the link's lane rpc, or on bulk if it is large.
//  3. At the member's node the goroutine that reads the link decodes and authorises the
//     request, unseals it, and offers it to the member's queue. The queue runs it, keeps it, or
//     refuses it at once, also if it could not finish in time.
//  4. A worker calls the handler and sends the reply, waiting for room in the lane at most
//     until the deadline. If handlers have been brief and requests arrive singly, the reader
//     does that itself (brevity.go); if the handler then takes long, another goroutine reads.
//  5. At the caller's node the reader takes the attempt from its peer, which makes this its
//     only reply, and posts the event to the call. Sessions that begin or end, refused dials,
//     suspect peers and timers post events, too.
//  6. The goroutine that posts an event makes the call handle it: the plan decides to wait, to
//     try another member, to pause, or to end. It then handles events that others posted
//     meanwhile. The end wakes the caller; a lone caller is woken through the system
//     (alone.go).
//
// # The other patterns
//
//   - Ask with To asks only that member, at most once. If its link is down, the link is opened,
//     and dialled again for two seconds while the member is listed. If its lane is full, the
//     message waits in order, so that no later one takes its room.
//   - AskAll does that for every member at once: a call for each, whose end is posted to the
//     caller's goroutine, without a goroutine for each member. Replies count against the
//     survey's bound on arrival.
//   - AskAll asks one gateway of each other network that lends members. That gateway asks all
//     members there, passes their replies on, and ends with a summary, as a relay does for a
//     leaf (everybody.go). If it can't, all of that network is named as missing.
//   - A survey is handled as a request. A push or broadcast is acknowledged as soon as the queue
//     has it. From then on the member owns it: it has no deadline, outlives the sender's link,
//     waits for a worker, and is finished by Drain. Only Close, or a Drain without enough time,
//     ends it: counted as "abandoned".
//   - Broadcasts travel on lane pub, the others on rpc.
//   - The opening of a tunnel is not queued: unless the member drains, the Acceptor decides at
//     once, and the answer travels on lane bulk, before the tunnel's own frames.
//   - Patterns without a function at the member are refused (CodeNoMethod), and not queued.
//
// # Members of clients
//
// A relay forwards requests for its clients' members (Engine.Forward): they are checked,
// unsealed and counted here, and passed on with their encoded tails. There is no queue in
// between: the member's own engine has one. For its clients' calls a relay uses Start and
// AskAll with tails.
//
// # The cores
//
// Every decision is in a type without goroutine, clock or link: plan (retries and the
// outcome), budget (whether a retry is permitted), queue (what runs), effort (the durations of
// handlers), replays (duplicates). The rest carries out their decisions.
//
// # At most once
//
// An attempt is handled at most once: a session delivers a frame at most once, and no attempt
// is sent again. A retry is a new attempt with a new id, decided by the plan. Sealed requests
// are also remembered, by sealer, and refused if they arrive again; a node that passes on
// sealed requests can't wait until they are forgotten
// (TestWhatIsForgottenIsRefusedFromForwarders).
//
// A broken connection ends nothing: its session continues over the next one. Until then,
// unwritten requests are withdrawn and sent elsewhere. Written idempotent requests are tried
// elsewhere after two round trips (20 to 60 ms), while the first attempt stays open; other
// written requests wait. When the session ends, its attempts end, as the member may have seen
// them. At the member the jobs of a peer continue until its session ends.
//
// # Time
//
// The deadline travels on the sender's link clock, and the receiver's link converts it to local
// time, so no wall clock is trusted. The caller's own clock ends its request whatever the
// member does. The member drops requests that it has not started by the deadline, and cancels
// the context of those that run.
//
// # Goroutines
//
// None of its own. Handlers run on the Exec's workers, brief ones on the overlay's readers. A
// worker waits for the first view of a call that was started. Frames and events are handled on
// the readers, which never block here. One timer runs while there is state of a peer or a
// cluster, and one for the deadlines of all calls.
package request
