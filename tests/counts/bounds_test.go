// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package counts

// cost is what one process may do for one message, on average.
type cost struct {
	allocations float64 // objects on the heap
	calls       float64 // system calls that read or write
	wakes       float64 // times that one of its threads waited and was woken; held where it is given or runs are not
	runs        float64 // times that one of its goroutines that had stopped was let run
	overhead    float64 // bytes of frames to other nodes, beyond the 1,024 of the body; of nodes only
}

// bounds is the guard: what each work may cost each process that it passes. To
// tighten it after an improvement run
//
//	go test ./tests/counts -v
//
// which prints what was counted beside each bound, and lower the bound to about
// what was counted and a fifth; calls and wakes of streams, which depend on how
// busy the machine is, to twice that.
//
// A request that is alone has each process wait for it, and how many threads are woken
// then is chance: of four, two are the runtime's own watch, which takes a nap of 20 µs
// after the other for as long as anything runs, and one looks for work and may find none.
// What the code decides is how many goroutines pass the request on, and in relays that
// the watch sleeps: they do not tell it of their calls.
var bounds = map[string]map[string]cost{
	"topic, embedded": {
		"publisher":  {allocations: 0.2, calls: 0.1, wakes: 0.1, overhead: 50},
		"subscriber": {allocations: 1, calls: 0.15, wakes: 0.1, overhead: 1},
	},
	"topic, two relays": {
		"publisher":  {allocations: 0.2, calls: 0.1, wakes: 0.15},
		"near relay": {allocations: 0.2, calls: 0.15, wakes: 0.25, overhead: 50},
		"far relay":  {allocations: 0.5, calls: 0.25, wakes: 0.25, overhead: 1},
		"subscriber": {allocations: 0.5, calls: 0.25, wakes: 0.25},
	},
	"tunnel, embedded": {
		"sender":   {allocations: 0.2, calls: 0.1, wakes: 0.1, overhead: 16},
		"receiver": {allocations: 0.5, calls: 0.15, wakes: 0.15, overhead: 1},
	},
	"request, embedded": {
		"caller": {allocations: 5, calls: 4.5, runs: 2.5, overhead: 48},
		"member": {allocations: 3.9, calls: 4.5, runs: 2.5, overhead: 38},
	},
	"64 requests at once, embedded": {
		"caller": {allocations: 3.8, calls: 1, wakes: 0.5, overhead: 48},
		"member": {allocations: 2.8, calls: 1, wakes: 0.5, overhead: 38},
	},
	"8 requests at once, two relays": {
		"caller":     {allocations: 7.5, calls: 1.5, wakes: 1.5},
		"near relay": {allocations: 10, calls: 2, wakes: 2, overhead: 48},
		"far relay":  {allocations: 2.8, calls: 2, wakes: 2, overhead: 38},
		"member":     {allocations: 5, calls: 1.5, wakes: 1.5},
	},
	"request, two relays": {
		"caller":     {allocations: 7.5, calls: 4.5, runs: 2.5},
		"near relay": {allocations: 11.2, calls: 7.5, wakes: 2.8, runs: 2.5, overhead: 48},
		"far relay":  {allocations: 3.9, calls: 7.5, wakes: 2.8, runs: 2.5, overhead: 38},
		"member":     {allocations: 5, calls: 4.5, runs: 2.5},
	},
}
