// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package netns is level net of scenarios: real relay processes, real TCP and
// real time, on links that behave as a model says. [Net] implements play.Level.
//
// It is not deterministic: the same seed gives the same schedule of faults and
// the same draws for the n-th packet of a wire, but which packet is the n-th is
// up to the kernel. It models no processor: nodes share the machine's.
//
// # What it takes
//
// Linux, root and /dev/net/tun; neither netem nor the ip command. Each node has
// a network namespace with a TUN device, at an address of its own in
// 10.77.0.0/16, and this process moves IP packets between the devices. What a
// kernel does about a lost packet is what it does in production. [Supported]
// says whether it is possible here, why not, and what to do instead.
//
// # Data path of a packet
//
//  1. A relay writes; the kernel of its namespace makes a packet and routes it
//     to the TUN device.
//  2. The device's reader looks up whose address it goes to.
//  3. wires decides: it is cut off, silent, held by a clog, lost, or passes
//     and arrives at a time that package link tells.
//  4. post keeps it until then and wakes to the microsecond.
//  5. It is written to the other device; the kernel there takes it.
//
// # Nodes
//
// A node is a process "arke relay" and a client of it in this process. Handlers
// and callers run here, so pausing a node stops its relay but no handler, and a
// handler may outlive its node for a moment. What a crash and a loss of power
// do:
//
//	crash    the process is killed, its kernel ends the connections
//	silence  the node's packets are dropped from now on, then the process is
//	         killed and the namespace is removed: nobody hears anything, and
//	         after a restart the kernel knows nothing of old connections
//	pause    SIGSTOP: the kernel goes on acknowledging until buffers are full
//	stop     the client leaves its clusters and drains, then SIGTERM
//
// # What this level can't do
//
// Clock skew, faults of the router, and explicit cluster keys: there is no way
// into the process. The errors wrap play.ErrUnsupported.
//
// # Goroutines
//
// One for the deliveries, on a thread of its own; for each node one that keeps
// the thread in its namespace, one that reads the device and one that waits for
// the process; one for each call of At. [Net.Close] waits for all of them.
//
// # What is left behind
//
// Nothing, also if this process is killed: namespaces have no names and end
// with it, the kernel kills the relays (they asked for it), and temporary
// folders are removed by the next run. To look into a running node:
//
//	nsenter --net --target PID ss -tni
package netns
