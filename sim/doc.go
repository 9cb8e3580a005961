// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package sim, an inner part of Arke that makes no promise to users, is a
// network that replays: it puts the five seam interfaces of package overlay on
// one seeded queue of events in virtual time, so that the real overlay,
// cluster, pattern and handler code above runs unchanged and two runs can be
// compared event by event.
//
// It is not a model of the code above the seam, and it does not run libp2p:
// handshakes, multiplexing and the DHT are replaced by their visible effects
// (latency, streams, who knows whom).
//
// # Use
//
//	sim.Replay(t, sim.Config{Seed: 7}, 2, func(t *testing.T, n *sim.Network) {
//		seam := n.Seam("a")
//		a, err := node.New(node.Config{Network: file, Seam: &seam, Incarnation: n.Incarnation("a")})
//		…
//		time.Sleep(10 * time.Second) // of virtual time
//		n.Crash("a")
//		a.Close()
//	})
//
// # The promise
//
// The same test binary, the same program of nodes and faults, and the same
// seed give the same trace hash, on any machine of the same architecture.
// Other releases of Go, of Arke or of the program give other traces. It holds
// as long as the code under test follows the rules below; where it does not,
// [Replay] names the first event at which two runs differ.
//
// # How a step works
//
//  1. All goroutines live in a testing/synctest bubble. The driver waits until
//     every one of them is blocked.
//  2. What they sent since then is collected per stream and committed in the
//     order of canonical keys: each stream's bytes become one delivery, which
//     its path's link delays, drawing from a random stream of its own.
//  3. The driver takes the event with the smallest (time, key), sleeps in the
//     bubble until that time, which moves the bubble's clock and lets user
//     code's own time.Sleep end on the way, and applies it. No two steps share
//     an instant: a backlog advances by one nanosecond a step.
//  4. An event wakes at most one goroutine. Whatever else it causes is queued
//     as further events.
//
// Keys are made of names, ids and per-path numbers, never of a global count
// or an address in memory, so they are the same in every run.
//
// # Rules for handlers and other user code
//
//  1. Goroutines that may run at the same instant (because one event, or one
//     instant at which several sleeps end, wakes them all) do not depend on who
//     is first. Requests and replies of one node sort themselves out; for the
//     rest, and for state of your own, Network.Go starts each function at an
//     instant of its own.
//  2. Random numbers come from a seeded source, never from math/rand's or
//     crypto/rand's global one.
//  3. The order of a map's iteration must not reach a message or a timer.
//  4. No mutex is held across anything that blocks: in the bubble that hangs
//     the run (a watchdog then prints all stacks).
//  5. Time is the bubble's (time.Now, time.Sleep and contexts do the right
//     thing); nothing waits for the world outside: no sockets, no processes.
//     Nobody but the driver calls synctest.Wait.
//
// # Goroutines
//
// One driver per Network, one goroutine for each call of Clock.AfterFunc,
// Exec.Go, Network.At, Network.Go and, while they run, for the calls of a
// TransportHandler. Close waits for all of them; the nodes above must be closed
// before, by who made them.
//
// # Links
//
// Each direction between two nodes has a link of package link: latency,
// jitter, loss, bandwidth and queue. It is shared by all connections between
// the two; what waits for its bottleneck is sent in turns of 16 KiB, stream by
// stream, and a Write waits while what the stream wrote before does. On a
// stream a lost packet is a delay, and one that is lost too often ends the
// connection. Package link has the table of what is modelled and what is not.
//
// # Clients
//
// A program that attaches to a node on its machine has a seam of its own
// (Network.Client) and the node's local socket (ListenLocal, DialLocal): a
// stream with the manners of a unix socket, refused at once where nobody
// listens, ended when either process dies. It takes 20 µs and has no link:
// nothing is lost on it, and what is cut is never a local socket.
//
// # Faults
//
// Each one is an event of the trace, under the name in quotes, and is over when
// its method returns. None of them is an error by itself: what the code above
// notices is what it would notice in reality.
//
//	Crash "crash a"           a killed process: connections are reset, peers see it one latency later
//	Silence "silence a"       a power loss: nobody notices before the keepalive (Config.DeadAfter)
//	Pause "pause a"           a stopped machine: nothing arrives, no timer fires, until Resume "resume a"
//	Partition "partition …"   black holes both ways, until Heal "heal" or Mend "mend a to b"
//	CutOneWay "cut a to b"    a black hole one way. The other way stalls, too, after one RTO: no
//	                          acknowledgement, no new data; and no credit, so windows fill up
//	Clog "clog a to b"        held, not lost, until "unclog a to b"
//	SetLink "link a b …"      another link, both ways; SetLatency "latency a b …" changes its latency only
//	Break "break a from b"    connections are reset, as a middlebox or a restarted socket does; both may dial again
//	Corrupt "corrupt a to b"  a flipped bit in the next delivery: its connection ends, as TLS would end it
//	Skew "skew a …"           the node's Clock runs too fast or too slow, its wall clock is off
//	RouterFault "router a …"  the node's Router is slow, stale or wrong
//	Calm "calm"               the end of everything above that lasts; what is down stays down
//
// Behind a cut dials hang until they time out; connections stand until the
// keepalive ends them, Config.DeadAfter after the cut began. What was lost on
// one that survives is sent again at TCP's next retransmission after the cut
// has ended; the waits between those double all the while, from 200 ms, so that
// a cut of 3 s can be felt for 3 s more. Dials try once a second.
//
// A crashed node's code keeps running, cut off, until it is closed: close it
// right after the fault. A new Seam of the same name is the restarted node: same
// key and address, next incarnation. Slow handlers, churn and floods are made
// of starts, stops and work, not by this package.
package sim
