// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package request, an inner part of Arke that makes no promise to users, is the
// request pattern: one message to one member of a cluster, one outcome back. It
// is both halves of it: the callers of a node and its members. Package patterns
// has the promises and the table of outcomes.
//
// The patterns that address a cluster stand upon it: a survey is a request to
// every member, pushes, broadcasts and the openings of tunnels are messages of
// the same form to which the member's node answers early. Their packages have
// what is their own.
//
// It does not choose members (package cluster does), and knows no transport:
// it sees the layers below through the small interfaces of network.go. The same
// engine runs in a node and, as a Leaf, in a program beside a relay.
//
// # The way of a request
//
//  1. Engine.Ask, on the caller's own goroutine, or Engine.Start gets the route to
//     the cluster (its watch, keys and retry budget), and waits for a view if there
//     is none.
//  2. The cluster layer picks a member that the plan does not exclude. An
//     attempt gets an id, is noted at its peer, and leaves on the link's lane
//     rpc, or on bulk if it is large.
//  3. At the member the goroutine that reads the link decodes it, checks that it
//     may be asked (and unseals it), and offers it to the member's queue: it
//     runs, waits, or is refused at once, also if it could not end in time.
//  4. A worker calls the handler and sends the reply, waiting for room in the
//     lane until the request's deadline at most. Where handlers have been brief and
//     requests come one at a time, the reader does that itself (brevity.go): if it takes
//     long after all, another one reads on.
//  5. Back at the caller's node the reader takes the attempt from its peer, which
//     makes this its only reply, and brings the call the event. So do a session
//     that begins or ends, a refused dial, a suspect peer and a timer.
//  6. Whoever brings an event has the call handle it to its end: the plan decides
//     whether to wait, to try another member, to pause, or to end. What others bring
//     meanwhile, the same goroutine handles next. The end wakes who waits; where calls
//     come one at a time, by way of the system (alone.go).
//
// # The other patterns
//
//   - Ask with To asks that member only, at most once. If its link is down it is
//     opened, and dialled again for two seconds while the member is listed. Where
//     its lane is full the message stands in line, so that nobody who comes later
//     takes the room.
//   - AskAll does that for every member at once: a call for each, whose ends come
//     to the caller's goroutine. No goroutine is spent on a member. Replies count
//     against the survey's bound where they arrive.
//   - Of each other network that gateways lend members of, AskAll asks one of them. Its
//     gateway asks all members there, passes their replies on as they come, and ends with
//     a summary, as a relay does for a leaf (everybody.go). If it can't, what is missing
//     is named as all of that network.
//   - A survey is handled as a request. Of a push or broadcast the sender is told as
//     soon as the queue has it; then it belongs to the member: it has no deadline,
//     outlives the sender's link, waits for a worker if none is free, and Drain
//     finishes it. Only Close, or a Drain without the time for it, ends it: counted as
//     "abandoned".
//   - Broadcasts travel on lane pub, the others on rpc.
//   - The opening of a tunnel is not queued: unless the member drains, the
//     Acceptor decides at once, and the answer travels on lane bulk, before what
//     the tunnel itself sends there.
//   - Whoever uses a pattern that the member does not implement is told so
//     (CodeNoMethod), and nothing is queued.
//
// # Members that live elsewhere
//
// A relay has the requests for its clients' members forwarded (Engine.Forward):
// they are checked, opened and counted here, and handed on with their tails as
// they came. There is no queue in between: the member's own engine has one. For
// its clients' calls a relay uses Start and AskAll with tails.
//
// # The cores
//
// Every decision is in a type without goroutine, clock or link: plan (is it
// sent again, and what is the outcome), budget (may it be), queue (does it run), effort
// (what handlers take), replays (was it seen before). The rest carries out what they say.
//
// # Never twice
//
// An attempt is handled at most once, because a session delivers a frame at most
// once, and nobody sends an attempt again: a retry is a new attempt, with an id
// of its own, at the plan's decision. Sealed requests are also remembered, by who has
// sealed them, and refused if they come again; whoever passes on what others have
// sealed can't wait until they are forgotten (TestWhatIsForgottenIsRefusedFromForwarders).
// Nobody may do that yet.
//
// A connection that breaks ends nothing: its session goes on when it is back.
// Until then what was not written is taken back and goes elsewhere; what was
// written and may be repeated is tried elsewhere after two round trips (20 to
// 60 ms), the first attempt staying open; what may not be repeated waits. When
// the session ends, so do its attempts: nobody knows what the member has seen. At
// the member the jobs of a peer go on until its session ends.
//
// # Time
//
// The deadline travels on the sender's link clock and is turned into local time
// by the receiver's link, so no wall clock is trusted. The caller's own clock
// ends its request whatever the member does; the member throws away what it has
// not begun by then, and ends the context of what it has.
//
// # Goroutines
//
// None of its own. Handlers run on the Exec's workers, brief ones on the overlay's
// readers, as said above. The wait for the first view of a call that was started is a
// worker's; frames and events are handled on the readers, which never block here. One timer runs while anything is kept
// for a peer or a cluster, and one for the deadlines of all calls together.
package request
