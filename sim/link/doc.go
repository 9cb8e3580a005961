// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package link, an inner part of Arke that makes no promise to users, is the
// model of a link between two nodes that every level of the simulator shares:
// given when something is sent and how long it is, it says when it arrives. It
// is a pure core: no goroutine, no clock, no lock, no floating point; equal
// calls on equal directions give equal answers on every architecture.
//
// It is not a network: it knows neither who is cut off from whom nor what is
// inside of a packet, and it holds no data.
//
// # Data path
//
// A [Direction] is one way of a link. What is sent on it
//
//  1. waits in the queue before the bottleneck, if the link has a bandwidth,
//  2. takes its time to pass, in the order in which it came,
//  3. is lost with the probability Loss, each packet by itself,
//  4. and arrives after the latency and a random part of the jitter, never
//     before what was sent earlier.
//
// Packet is for levels whose own TCP notices losses (net). Send is for those
// that have reliable streams only (sim and stack): there a loss is a delay, and
// too many of them end the connection.
//
// # What is modelled, and what is not
//
//	latency       fixed part plus a uniform random part, integer nanoseconds
//	bandwidth     one bottleneck for each direction, shared by everything on it
//	queue         before the bottleneck, first in first out, bounded in bytes;
//	              Packet drops what does not fit, Send has it wait at the
//	              sender and pays one round trip for the loss
//	loss          of packets of 1,400 bytes, independent of each other; no bursts
//	retransmission what Linux does with selective acknowledgements: a loss is
//	              noticed a round trip after a later packet got through (RACK),
//	              which is guessed from how often the flow sent of late, if it
//	              went on in spite of the last loss; after a probe; or after the
//	              RTO. If little is under way a second loss of the same packet is
//	              noticed by the RTO only, and nothing new is sent until it is
//	              acknowledged; what the program writes meanwhile leaves in few
//	              packets.
//	RTO           a round trip plus four times the jitter, or 200 ms; the round
//	              trip is twice this direction's latency. The first two waits are
//	              equal (a probe comes first), and six more if less than four
//	              packets are under way; the others double, up to a second.
//	broken        a packet that is still not through after 30 s
//	order         a delivery waits for what was sent before (head of the line)
//	duplication   not modelled: TCP hides it
//	reordering    not modelled for packets; jitter never overtakes
//	congestion    not modelled: senders are assumed to find the bandwidth at
//	              once and to keep it in spite of losses. A real sender is
//	              slower on a link that is long and lossy.
//	acknowledgements  take no bandwidth; they are lost like packets, but only
//	              where the sender waits for one
//	headers       take no bandwidth
//	corruption    checksums make it a loss; what gets through is a fault that
//	              package sim injects
package link
