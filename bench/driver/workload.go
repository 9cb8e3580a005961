// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/bench/system"
)

// Workload is what a system is made to do.
type Workload struct {
	Name  string
	About string

	// Bytes is the size of a message.
	Bytes int

	// Publishers and Subscribers are processes. Zero publishers: requests.
	Publishers, Subscribers int
	// Pipe says that tunnels do the same work: one sender, one receiver.
	Pipe bool
	// Streams is how many tunnels the publisher has (default 1), and Idle how
	// many more on which nothing happens.
	Streams, Idle int

	// Seats is how many connections the requester has (default 1), InFlight how
	// many requests are under way on each at most.
	Seats, InFlight int
	// Served says that this is about many clients of one server.
	Served bool
	// Rate is the requests a second of an open loop. With HalfOf it is half of
	// what the slowest system carried in that workload.
	Rate   float64
	HalfOf string
	// Together is what workloads share whose rounds take turns, so that they can
	// be compared; empty = the workload is run by itself.
	Together string
	// Responders is how many processes answer (default 1), Handlers how many
	// requests each has at once (0 = the system's default), Delay how long a
	// request takes, Slow how long at the first of them.
	Responders, Handlers int
	Delay, Slow          time.Duration

	// Database is what pgbench is told beside how long, how many and where: this
	// is about a PostgreSQL server, to which connections are carried.
	Database []string
}

// Workloads returns all of them, in the order of the tables.
func Workloads() []Workload {
	topic := func(name, about string, bytes, publishers, subscribers int) Workload {
		return Workload{
			Name: name, About: about, Bytes: bytes, Publishers: publishers, Subscribers: subscribers,
			Pipe: publishers == 1 && subscribers == 1,
		}
	}
	requests := func(name, about string, bytes, seats, inFlight int, rate float64) Workload {
		return Workload{Name: name, About: about, Bytes: bytes, Seats: seats, InFlight: inFlight, Rate: rate}
	}
	slow := Workload{
		Bytes: 128, InFlight: 4096, Rate: 1000, Responders: 5, Delay: time.Millisecond, Slow: 10 * time.Millisecond,
	}
	one, many := slow, slow
	one.Name, one.About, one.Handlers = "balance-1", "requests to five members, one ten times slower, one handler each, 1,000/s", 1
	many.Name, many.About, many.Handlers = "balance-64", "the same with 64 handlers each", 64
	half := requests("open-25-half", "open loop, 1 KB over 25 connections at half the capacity of the slowest system", 1<<10, 25, 64, 0)
	half.HalfOf = "capacity-25"
	// One node has the load of 25: both are Arke's, in the same rounds.
	many25 := requests("open-25", "open loop, 1 KB at 20,000/s over 25 connections", 1<<10, 25, 64, 20_000)
	one25 := requests("open-20k", "open loop, 1 KB at 20,000/s over one connection", 1<<10, 1, 25*64, 20_000)
	many25.Together, one25.Together = "20,000/s", "20,000/s"
	tunnels := topic("tunnels-10k", "10,000 tunnels, 1 KB on 100 of them", 1<<10, 1, 1)
	tunnels.Streams, tunnels.Idle = 100, 9900
	fewer := topic("tunnels-2k", "2,000 tunnels, 1 KB on 100 of them", 1<<10, 1, 1)
	fewer.Streams, fewer.Idle = 100, 1900

	clients := requests("clients-1k", "open loop, 1 KB at 2,000/s over 1,000 clients of one relay or server", 1<<10, 1000, 4, 2000)
	clients.Served = true

	return []Workload{
		topic("1to1-16", "topic, 1 → 1, 16 B", 16, 1, 1),
		topic("1to1-1k", "topic, 1 → 1, 1 KB", 1<<10, 1, 1),
		topic("1to1-64k", "topic, 1 → 1, 64 KB", 64<<10, 1, 1),
		topic("1to4", "topic, 1 → 4, 128 B", 128, 1, 4),
		topic("1to16", "topic, 1 → 16, 128 B", 128, 1, 16),
		topic("4to4", "topic, 4 → 4, 128 B", 128, 4, 4),
		requests("closed-1", "requests, closed loop, 1 KB, 1 in flight", 1<<10, 1, 1, 0),
		requests("closed-64", "requests, closed loop, 1 KB, 64 in flight on one connection", 1<<10, 1, 64, 0),
		requests("open-256", "open loop, 256 B at 3,000/s", 256, 1, 1024, 3000),
		requests("open-1k", "open loop, 1 KB at 3,000/s", 1<<10, 1, 1024, 3000),
		requests("open-5k", "open loop, 5 KB at 2,000/s", 5<<10, 1, 1024, 2000),
		many25, one25,
		requests("capacity-25", "requests, closed loop, 1 KB, 25 connections with 8 in flight each", 1<<10, 25, 8, 0),
		half,
		requests("open-1m", "open loop, 1 MB at 100/s", 1_000_000, 1, 16, 100),
		one, many,
		clients, fewer, tunnels,
		{Name: "pgbench", About: "PostgreSQL, pgbench's TPC-B, scale 10, 8 clients", Database: []string{"-b", "tpcb-like"}},
		{Name: "pgbench-reads", About: "PostgreSQL, pgbench's reads only, scale 10, 8 clients", Database: []string{"-b", "select-only"}},
	}
}

// FindWorkload returns the workload of that name.
func FindWorkload(name string) (Workload, bool) {
	all := Workloads()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}

// withDefaults fills in the counts that are zero.
func (w Workload) withDefaults() Workload {
	w.Streams, w.Seats, w.Responders = max(w.Streams, 1), max(w.Seats, 1), max(w.Responders, 1)
	return w
}

// Requests is true for requests, false for topics and what is carried.
func (w Workload) Requests() bool { return w.Publishers == 0 && w.Database == nil }

// Suits says whether a system can do the work.
func (w Workload) Suits(s system.System) bool {
	if w.Database != nil {
		return s.Carry != nil
	}
	if w.Requests() {
		return s.Requests && (s.Balances || w.Responders <= 1) && (s.Served || !w.Served)
	}
	if w.Idle > 0 {
		return s.Tunnels >= w.Streams+w.Idle
	}
	return s.Topics || s.Tunnels > 0 && w.Pipe
}

// The credit window where a system has no back-pressure: in messages, but in
// bytes no more than what fits the queues of all of them with their heads: the
// smallest is the 16 MiB that a relay of Arke's keeps for a client.
const (
	windowMessages = 16384
	windowBytes    = 8 << 20
)

func (w Workload) window() int { return min(windowMessages, windowBytes/w.Bytes) }
