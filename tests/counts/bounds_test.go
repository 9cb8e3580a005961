// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package counts

// cost is what one process may do for one message, on average.
type cost struct {
	allocations float64 // objects on the heap
	calls       float64 // system calls that read or write
	wakes       float64 // times that one of its threads waited and was woken; held where it is given or runs are not
	runs        float64 // times that one of its goroutines that had stopped was let run
	frames      float64 // frames to other nodes for each message, acknowledgements and beats too; of nodes only
	overhead    float64 // bytes of frames to other nodes, beyond those of the body; of nodes only
	memory      float64 // bytes of the heap; held where it is given
}

// bounds is the guard: what each work may cost each process that it passes. To
// tighten it after an improvement run
//
//	go test ./tests/counts -v
//
// which prints what was counted beside each bound, and lower the bound to about
// what was counted and a fifth: less than one more for each message, where that
// would be a fifth or less, and at least 0.05 more where next to nothing was counted,
// of acknowledgements 0.01 frames. Calls and wakes of streams, which depend on how
// busy the machine is, are held at twice that or more.
//
// A message of 64 KiB is two frames. Memory for it is used again, but for what the collector
// has thrown away meanwhile: one message of five may take new memory at a relay, and one of
// two at the subscriber, which keeps each.
//
// Streams share frames: 34 messages of a topic or tunnel are in one. Frames and overhead
// are where it is seen first if they do not.
//
// A request that is alone has each process wait for it, and how many threads are woken
// then is chance: of four, two are the runtime's own watch, which takes a nap of 20 µs
// after the other for as long as anything runs, and one looks for work and may find none.
// What the code decides is how many goroutines pass the request on, and in relays that
// the watch sleeps: they do not tell it of their calls.
var bounds = map[string]map[string]cost{
	"topic, embedded": {
		"publisher":  {allocations: 0.07, calls: 0.1, wakes: 0.1, frames: 0.05, overhead: 10},
		"subscriber": {allocations: 0.17, calls: 0.15, wakes: 0.1, frames: 0.01, overhead: 0.3},
	},
	"topic, one relay": {
		"publisher":  {allocations: 0.08, calls: 0.1, wakes: 0.15},
		"relay":      {allocations: 0.07, calls: 0.15, wakes: 0.25, frames: 0.01, overhead: 0.3},
		"subscriber": {allocations: 0.14, calls: 0.25, wakes: 0.25},
	},
	"topic of 64 KiB, two relays": {
		"publisher":  {allocations: 3.5, calls: 0.9, wakes: 0.9, memory: 13e3},
		"near relay": {allocations: 4.5, calls: 3.1, wakes: 1.6, frames: 2.1, overhead: 83, memory: 13e3},
		"far relay":  {allocations: 8.1, calls: 5.4, wakes: 2.4, frames: 0.06, overhead: 2.4, memory: 13e3},
		"subscriber": {allocations: 4.7, calls: 2.7, wakes: 2.6, memory: 33e3},
	},
	"topic, two relays": {
		"publisher":  {allocations: 0.08, calls: 0.1, wakes: 0.15},
		"near relay": {allocations: 0.07, calls: 0.15, wakes: 0.25, frames: 0.05, overhead: 10},
		"far relay":  {allocations: 0.14, calls: 0.25, wakes: 0.25, frames: 0.01, overhead: 0.3},
		"subscriber": {allocations: 0.14, calls: 0.25, wakes: 0.25},
	},
	"tunnel, embedded": {
		"sender":   {allocations: 0.08, calls: 0.1, wakes: 0.1, frames: 0.05, overhead: 2.9},
		"receiver": {allocations: 0.14, calls: 0.15, wakes: 0.15, frames: 0.01, overhead: 0.3},
	},
	"request, embedded": {
		"caller": {allocations: 4.9, calls: 4.5, runs: 2.5, frames: 1.2, overhead: 48},
		"member": {allocations: 3.9, calls: 4.5, runs: 2.5, frames: 1.2, overhead: 38},
	},
	"64 requests at once, embedded": {
		"caller": {allocations: 3.8, calls: 0.5, wakes: 0.5, frames: 1.2, overhead: 48},
		"member": {allocations: 2.6, calls: 0.5, wakes: 0.5, frames: 1.2, overhead: 38},
	},
	"8 requests at once, two relays": {
		"caller":     {allocations: 6.9, calls: 1.5, wakes: 1.5},
		"near relay": {allocations: 9, calls: 2, wakes: 2, frames: 1.2, overhead: 48},
		"far relay":  {allocations: 2.7, calls: 2, wakes: 2, frames: 1.2, overhead: 38},
		"member":     {allocations: 4.9, calls: 1.5, wakes: 1.5},
	},
	"request, two relays": {
		"caller":     {allocations: 6.8, calls: 4.5, runs: 2.5},
		"near relay": {allocations: 10, calls: 6.9, wakes: 2.8, runs: 2.5, frames: 1.2, overhead: 48},
		"far relay":  {allocations: 3.9, calls: 6.9, wakes: 2.8, runs: 2.5, frames: 1.2, overhead: 38},
		"member":     {allocations: 5, calls: 4.5, runs: 2.5},
	},
}
