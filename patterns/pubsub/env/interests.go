// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"hash/fnv"
	"sort"
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// MaxPayload bounds the interests that a lease carries, in bytes.
const MaxPayload = cluster.MaxPayload

// HashNode is how picks name a node.
func HashNode(peer string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(peer))
	return h.Sum64()
}

// HashQueue is how picks name a queue: the group of subscriptions to that
// pattern that share its name; 0 = none.
func HashQueue(pattern, queue string) uint64 {
	if queue == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(pattern))
	h.Write([]byte{0})
	h.Write([]byte(queue))
	return max(h.Sum64(), 1)
}

// ClusterOf is the cluster in which those who listen to the group register.
func ClusterOf(group string) string {
	word, keys := name.CutRef(group)
	if len(word) > maxKeyedWord {
		h := fnv.New64a()
		h.Write([]byte(word))
		word = strings.ToValidUTF8(word[:maxKeyedWord], "") + "~" + Hex(h.Sum64())
	}
	return name.Ref(Prefix+word, keys)
}

// Hex is a number as names of clusters and queues have it.
func Hex(n uint64) string { return cluster.MemberID(n).String() }

// Coarsen makes interests, which are sorted and distinct, fit into maxBytes:
// patterns that begin with the same words become one with > at the end, of
// fewer words until they fit. Those of queues stay as they are; false means
// that they alone do not fit.
func Coarsen(is []wire.Interest, maxBytes int) ([]wire.Interest, bool) {
	if wire.InterestsSize(is) <= maxBytes {
		return is, true
	}
	var plain, queues []wire.Interest
	for _, i := range is {
		if i.Queue == "" {
			plain = append(plain, i)
		} else {
			queues = append(queues, i)
		}
	}
	room := maxBytes - wire.InterestsSize(queues)
	for words := 8; words >= 0 && len(plain) > 0; words-- {
		coarse := widened(plain, words)
		if wire.InterestsSize(coarse) <= room {
			return append(coarse, queues...), true
		}
	}
	return queues, room >= 0 && len(plain) == 0
}

// widened replaces patterns of more than so many words.
func widened(is []wire.Interest, words int) []wire.Interest {
	var out []wire.Interest
	at := make(map[string]int)
	for _, i := range is {
		p := widen(i.Pattern, words)
		if n, ok := at[p]; ok {
			out[n].Signed = out[n].Signed || i.Signed
			continue
		}
		at[p] = len(out)
		out = append(out, wire.Interest{Pattern: p, Signed: i.Signed})
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Pattern < out[b].Pattern })
	return out
}

// widen keeps the first words of the pattern. What is left of it stands for at
// least what the pattern does.
func widen(pattern string, words int) string {
	parts := strings.Split(pattern, ".")
	if len(parts) <= words+1 || words == 0 && len(parts) == 1 {
		return pattern
	}
	return strings.Join(append(parts[:words:words], ">"), ".")
}

// FirstWord names the group of a topic.
func FirstWord(topic string) string {
	word, _, _ := strings.Cut(topic, ".")
	return word
}

// Legal drops interests whose patterns are none: they came from others.
func Legal(is []wire.Interest) []wire.Interest {
	out := is[:0]
	for _, i := range is {
		if match.CheckPattern(i.Pattern) == nil {
			out = append(out, i)
		}
	}
	return out
}

// Covered says whether one of the interests, without a queue, stands for all
// that the pattern does, and asks for signatures, if that is to be.
func Covered(is []wire.Interest, pattern string, signed bool) bool {
	for _, i := range is {
		if i.Queue == "" && (i.Signed || !signed) && covers(i.Pattern, pattern) {
			return true
		}
	}
	return false
}

// covers says whether every topic that b stands for is one that a stands for.
func covers(a, b string) bool {
	for {
		if a == ">" {
			return true
		}
		wordA, restA, moreA := strings.Cut(a, ".")
		wordB, restB, moreB := strings.Cut(b, ".")
		if wordB == ">" || wordA != "*" && wordA != wordB {
			return false
		}
		if !moreA || !moreB {
			return moreA == moreB
		}
		a, b = restA, restB
	}
}

// LentPrefix begins the names of the queues of gateways. Programs have none like that.
const LentPrefix = "$"

// IsLent says whether a queue is one of gateways.
func IsLent(queue string) bool { return strings.HasPrefix(queue, LentPrefix) }

// CheckQueue refuses the names of queues of gateways.
func CheckQueue(queue string) error {
	if IsLent(queue) {
		return fmt.Errorf("%w: queue %q: names that begin with %s are reserved", patterns.ErrTopic, queue, LentPrefix)
	}
	return nil
}
