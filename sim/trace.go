// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"strings"
	"time"
)

// checkpointEvery is how many events lie between two checkpoints of a trace.
const checkpointEvery = 1000

const (
	offset = 0xcbf29ce484222325 // FNV-1a's offset basis and prime; the words are wider
	prime  = 0x100000001b3
)

// mix folds a word into a running hash, in the manner of FNV-1a.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * prime
	return h ^ h>>29
}

// sumBytes hashes b, eight bytes at a time.
func sumBytes(b []byte) uint64 {
	h := mix(offset, uint64(len(b)))
	for len(b) >= 8 {
		h = mix(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	var tail uint64
	for i, c := range b {
		tail |= uint64(c) << (8 * i)
	}
	return mix(h, tail)
}

// sum hashes the name, which few events have.
func (k *key) sum() uint64 {
	if k.name == "" {
		return 0
	}
	return sumBytes([]byte(k.name))
}

// Trace is what happened in a run: a running hash over every event, and the
// events themselves if Config.Record asked for them.
type Trace struct {
	Seed   uint64
	Hash   uint64        // over time, key, size and content of every event
	Events uint64        // events applied
	End    time.Duration // virtual time of the last one
	// Checkpoints holds the running hash after each 1,000 events.
	Checkpoints []uint64

	names   map[uint32]string // of the nodes, by index
	records []record
}

// record is one event as the trace keeps it. The key's strings are shared.
type record struct {
	at   int64
	key  key
	size int
	sum  uint64
	hash uint64 // running hash after this event
}

// same compares events by themselves: the running hashes of different seeds
// differ from the start.
func (r record) same(o record) bool {
	r.hash = o.hash
	return r == o
}

func (t *Trace) add(e *event, keep bool) {
	h := mix(t.Hash, uint64(e.at))
	h = mix(h, uint64(e.key.kind)<<56^uint64(e.key.node)<<28^uint64(e.key.peer))
	h = mix(h, e.key.n)
	h = mix(h, e.key.sum())
	h = mix(h, uint64(e.size))
	h = mix(h, e.sum)
	t.Hash = h
	t.End = time.Duration(e.at)
	t.Events++
	if t.Events%checkpointEvery == 0 {
		t.Checkpoints = append(t.Checkpoints, h)
	}
	if keep {
		t.records = append(t.records, record{at: e.at, key: e.key, size: e.size, sum: e.sum, hash: h})
	}
}

func (t *Trace) line(i int) string {
	r := t.records[i]
	var b strings.Builder
	fmt.Fprintf(&b, "%8d %14s %-8s", i, time.Duration(r.at), r.key.kind)
	if r.key.node != 0 {
		fmt.Fprintf(&b, " %s", t.names[r.key.node])
	}
	if r.key.peer != 0 {
		fmt.Fprintf(&b, " from %s", t.names[r.key.peer])
	}
	if r.key.name != "" {
		fmt.Fprintf(&b, " %q", r.key.name)
	}
	fmt.Fprintf(&b, " #%x", r.key.n)
	if r.size != 0 || r.sum != 0 {
		fmt.Fprintf(&b, " %d bytes %016x", r.size, r.sum)
	}
	return b.String()
}

// WriteNode prints the recorded events that happened at the node or came from
// it, one a line; "" = those of all.
func (t *Trace) WriteNode(w io.Writer, node string) error {
	for i, r := range t.records {
		if node != "" && (r.key.node == 0 || t.names[r.key.node] != node) && (r.key.peer == 0 || t.names[r.key.peer] != node) {
			continue
		}
		if _, err := fmt.Fprintln(w, t.line(i)); err != nil {
			return err
		}
	}
	return nil
}

// Diff compares two runs. It returns "" if they are the same, else a text that
// names the first event at which they differ, with the events before it; if
// one of them was not recorded, the first checkpoint that differs.
func (t *Trace) Diff(o *Trace) string {
	if t.Hash == o.Hash && t.Events == o.Events {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d events, hash %016x; seed %d: %d events, hash %016x\n", t.Seed, t.Events, t.Hash, o.Seed, o.Events, o.Hash)
	if len(t.records) == 0 || len(o.records) == 0 {
		i := 0
		for i < len(t.Checkpoints) && i < len(o.Checkpoints) && t.Checkpoints[i] == o.Checkpoints[i] {
			i++
		}
		fmt.Fprintf(&b, "they differ after event %d; record them to see where", i*checkpointEvery)
		return b.String()
	}
	i := 0
	for i < len(t.records) && i < len(o.records) && t.records[i].same(o.records[i]) {
		i++
	}
	fmt.Fprintf(&b, "first difference at event %d, after\n", i)
	for j := max(0, i-8); j < i; j++ {
		fmt.Fprintf(&b, "   %s\n", t.line(j))
	}
	for j := i; j < i+6 && j < len(t.records); j++ {
		fmt.Fprintf(&b, " a %s\n", t.line(j))
	}
	for j := i; j < i+6 && j < len(o.records); j++ {
		fmt.Fprintf(&b, " b %s\n", o.line(j))
	}
	return b.String()
}

// book is a set of hosts, a bit for each: with thousands of nodes a map for
// each of them would be most of the memory.
type book []uint64

func (b *book) add(h *host) {
	word := h.number / 64
	for len(*b) <= word {
		*b = append(*b, 0)
	}
	(*b)[word] |= 1 << (h.number % 64)
}

// all gives the numbers of the hosts.
func (b book) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (b book) has(h *host) bool {
	word := h.number / 64
	return word < len(b) && b[word]>>(h.number%64)&1 == 1
}

// Tap hears what nodes send. It is called for each direction of each stream,
// and what it returns is called with each piece that goes out, in the order of
// events; nil = that direction is of no interest. What is lost on the way was
// sent. Neither may block, call the network, or keep data.
type Tap func(from, to string) func(at time.Duration, data []byte)

// listen begins to hear what s sends.
func (s *stream) listen() {
	if t := s.c.n.tap; t != nil && !s.c.local() {
		s.heard = t(s.c.ends[s.end].host.name, s.c.ends[1-s.end].host.name)
	}
}
