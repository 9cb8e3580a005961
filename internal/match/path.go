// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match

import (
	"hash/maphash"
	"strings"
)

// path is a topic on its way down the trie, cut into words once.
type path struct {
	topic string
	seed  maphash.Seed
	words int
	ends  [maxWords]uint8 // where each word ends
	tags  [8]uint32       // of the first words; others are computed when needed
}

// cut fills p in, and says whether the topic may be one.
func (p *path) cut(topic string, seed maphash.Seed) bool {
	if topic == "" || len(topic) > MaxBytes {
		return false
	}
	p.topic, p.seed = topic, seed
	for from := 0; ; p.words++ {
		end := len(topic)
		if i := strings.IndexByte(topic[from:], '.'); i >= 0 {
			end = from + i
		}
		if p.words == maxWords {
			return false
		}
		p.ends[p.words] = uint8(end)
		if p.words < len(p.tags) {
			p.tags[p.words] = tagOf(seed, topic[from:end])
		}
		if end == len(topic) {
			p.words++
			return true
		}
		from = end + 1
	}
}

// start is where word i begins; that of the word after the last one is beyond
// the topic.
func (p *path) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(p.ends[i-1]) + 1
}

func (p *path) word(i int) string { return p.topic[p.start(i):p.ends[i]] }

func (p *path) tag(i int) uint32 {
	if i < len(p.tags) {
		return p.tags[i]
	}
	return tagOf(p.seed, p.word(i))
}

// tagOf is the hash of a word, never one of the marks of a slot without word.
// It is seeded, because patterns come from strangers, and decides nothing but
// places in tables, which nobody sees.
func tagOf(seed maphash.Seed, word string) uint32 {
	return max(uint32(maphash.String(seed, word)), slotGone+1)
}
