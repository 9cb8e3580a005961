// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// vocabulary is how many different words there are at each of five places.
var vocabulary = [5]int{8, 16, 32, 64, 128}

// workload is what the structures are compared on: patterns of five words, and
// topics that match one of them or more.
type workload struct {
	patterns []string
	topics   []string
}

// newWorkload makes n patterns: of 20, sixteen are plain topics, two have one
// *, one has two, and one ends in > after two, three or four words.
func newWorkload(n int) workload {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	var w workload
	for i := range n {
		words := make([]string, len(vocabulary))
		for j := range words {
			words[j] = word(r, j)
		}
		switch i % 20 {
		case 0:
			words[r.IntN(5)], words[r.IntN(5)] = "*", "*"
		case 1, 2:
			words[r.IntN(5)] = "*"
		case 3:
			words = append(words[:2+r.IntN(3)], ">")
		}
		w.patterns = append(w.patterns, strings.Join(words, "."))
	}
	for range 1000 {
		words := strings.Split(w.patterns[r.IntN(n)], ".")
		for j := range words {
			if words[j] == "*" || words[j] == ">" {
				words[j] = word(r, j)
			}
		}
		for len(words) < 5 {
			words = append(words, word(r, len(words)))
		}
		w.topics = append(w.topics, strings.Join(words, "."))
	}
	return w
}

func word(r *rand.Rand, place int) string {
	return fmt.Sprintf("%s%d", [5]string{"region", "plant", "line", "machine", "sensor"}[place], r.IntN(vocabulary[place]))
}

func (w workload) fill(s structure) {
	for i, p := range w.patterns {
		s.Add(p, i)
	}
}
