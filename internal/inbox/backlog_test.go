// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// pub is a message that counts size bytes.
func pub(from string, size int) *patterns.Publication {
	return &patterns.Publication{From: from, Body: make([]byte, size)}
}

// drained is what a subscriber would get, as text: "a" for a message of a,
// "slow:a*3" for a gap.
func drained(b *backlog) string {
	var out []string
	for {
		p, g, ok := b.take()
		switch {
		case !ok:
			return strings.Join(out, " ")
		case g == nil:
			out = append(out, p.From)
		default:
			for _, gap := range *g {
				out = append(out, gapText(gap))
			}
		}
	}
}

func gapText(g patterns.Gap) string {
	about := ""
	if !g.Exact {
		about = "~"
	}
	return fmt.Sprintf("%s:%s*%s%d", g.Reason, g.From, about, g.Missed)
}

func TestPoliciesLeaveGapsWhereMessagesWere(t *testing.T) {
	// This test checks, step by step, what each policy keeps and where its gaps
	// stand. A word is a message from a publisher; one in brackets is a gap
	// that was reported.
	for _, c := range []struct {
		name     string
		overflow patterns.Overflow
		put      string
		want     string
	}{
		{"fits", patterns.OverflowOldest, "a b c", "a b c"},
		{"oldest: one over", patterns.OverflowOldest, "a b c d", "slow:a*1 b c d"},
		{"oldest: merged", patterns.OverflowOldest, "a a a b b", "slow:a*2 a b b"},
		{"oldest: of several publishers", patterns.OverflowOldest, "a b c d e", "slow:*2 c d e"},
		{"newest: one over", patterns.OverflowNewest, "a b c d", "a b c slow:d*1"},
		{"newest: merged", patterns.OverflowNewest, "a b c d d d", "a b c slow:d*3"},
		{"newest: of several publishers", patterns.OverflowNewest, "a b c d e", "a b c slow:*2"},
		{"block: as newest", patterns.OverflowBlock, "a b c d", "a b c slow:d*1"},
		{"reported, in place", patterns.OverflowOldest, "a [lost:x] b", "a lost:x*1 b"},
		{"reported, side by side", patterns.OverflowOldest, "a [lost:x] [lost:x] [lost:y] [relay:x] b", "a lost:*3 relay:x*1 b"},
		{"reported at the end", patterns.OverflowOldest, "a [lost:x]", "a lost:x*1"},
		{"a gap meets a gap", patterns.OverflowOldest, "a [lost:x] b c d e", "slow:*2 lost:x*1 c d e"},
		{"gaps need no room", patterns.OverflowNewest, "a [lost:x] b [lost:x] c [lost:x] d", "a lost:x*1 b lost:x*1 c lost:x*1 slow:d*1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &backlog{limits: limits{length: 3, bytes: 1000, overflow: c.overflow}}
			for _, word := range strings.Fields(c.put) {
				if reported, ok := strings.CutPrefix(word, "["); ok {
					reason, from, _ := strings.Cut(strings.TrimSuffix(reported, "]"), ":")
					b.gap(patterns.Gap{From: from, Missed: 1, Exact: true, Reason: patterns.GapReason(reason)})
					continue
				}
				b.put(pub(word, 1), 1)
			}
			require.Equal(t, c.want, drained(b))
		})
	}
}

func TestWhatIsDroppedHasAReason(t *testing.T) {
	// This test goes one over each limit, with each policy.
	for _, c := range []struct {
		limits  limits
		second  int // bytes of the second message
		dropped uint64
		why     dropReason
		left    int
	}{
		{limits{1, 100, patterns.OverflowOldest}, 1, 1, dropLength, 1},
		{limits{1, 100, patterns.OverflowNewest}, 1, 1, dropLength, 1},
		{limits{1, 100, patterns.OverflowBlock}, 1, 1, dropLength, 1},
		{limits{9, 100, patterns.OverflowOldest}, 51, 1, dropBytes, 1},
		{limits{9, 100, patterns.OverflowNewest}, 51, 1, dropBytes, 1},
		{limits{9, 100, patterns.OverflowBlock}, 51, 1, dropBytes, 1},
		{limits{9, 100, patterns.OverflowOldest}, 50, 0, 0, 2},
		{limits{9, 100, patterns.OverflowOldest}, 500, 1, dropBytes, 1}, // alone it has room
	} {
		b := &backlog{limits: c.limits}
		b.put(pub("a", 50), 50)
		dropped, why := b.put(pub("b", c.second), c.second)
		require.Equal(t, c.dropped, dropped, "%+v", c)
		if dropped > 0 {
			require.Equal(t, c.why, why, "%+v", c)
		}
		require.Equal(t, c.left, b.waiting.Len(), "%+v", c)
	}
}

func TestInexactGapsStayInexact(t *testing.T) {
	// This test checks that a merged gap claims to be exact only if both are.
	b := &backlog{limits: limits{length: 3, bytes: 9}}
	b.gap(patterns.Gap{From: "a", Missed: 5, Reason: patterns.GapLost})
	b.gap(patterns.Gap{From: "a", Missed: 1, Exact: true, Reason: patterns.GapLost})
	require.Equal(t, "lost:a*~6", drained(b))
}

// model is a backlog that anybody believes: a list of everything that was ever
// put, in which messages are crossed out.
type model struct {
	limits limits
	items  []item
}

type item struct {
	number  int // of a message; 0 = a reported gap
	size    int
	missing uint64
}

func (m *model) waiting() (n, bytes, first int) {
	first = -1
	for i, it := range m.items {
		if it.missing == 0 {
			if first < 0 {
				first = i
			}
			n++
			bytes += it.size
		}
	}
	return n, bytes, first
}

func (m *model) put(number, size int) {
	full := func() bool {
		n, bytes, _ := m.waiting()
		return n > 0 && (n >= m.limits.length || bytes+size > m.limits.bytes)
	}
	it := item{number: number, size: size}
	switch {
	case m.limits.overflow == patterns.OverflowOldest:
		for full() {
			_, _, first := m.waiting()
			m.items[first].missing = 1
		}
	case full():
		it.missing = 1
	}
	m.items = append(m.items, it)
}

// take returns the number of the next message, or the sum of the gaps before
// it.
func (m *model) take() (number int, missing uint64) {
	for len(m.items) > 0 {
		it := m.items[0]
		if it.missing == 0 && missing > 0 {
			return 0, missing
		}
		m.items = m.items[1:]
		if it.missing == 0 {
			return it.number, 0
		}
		missing += it.missing
	}
	return 0, missing
}

func TestDeliveredAndMissedAreWhatWasPut(t *testing.T) {
	// This test checks the backlog against a list that anybody believes: what
	// is delivered, in which order, how large the gap at each place is, and
	// that delivered + missed + queued = put + reported after each step, also where
	// several are put together.
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := limits{1 + r.IntN(6), 1 + r.IntN(80), patterns.Overflow(r.IntN(3))}
		b, m := &backlog{limits: l}, &model{limits: l}
		var put, reported uint64
		for i := 1; i < 300; i++ {
			switch r.IntN(6) {
			case 5: // several together, if there is room, as PutRun does it
				run := &Run{Topic: "t", From: "p", Count: 1 + r.IntN(4)}
				var sizes []int
				for k := range run.Count {
					body := numbered(i*10+k, r.IntN(6))
					tail := wire.AppendTail(nil, nil, body)
					run.Messages = append(wire.AppendMessage(run.Messages, "", nil, len(tail)), tail...)
					sizes = append(sizes, len(run.Topic)+len(body))
				}
				if b.pushRun(run, run.size()) {
					put += uint64(len(sizes))
					for k, size := range sizes {
						m.put(i*10+k, size)
					}
				}
			case 0, 1, 2:
				p := &patterns.Publication{From: "p", Body: numbered(i*10, r.IntN(12))}
				put++
				b.put(p, sizeOf(p))
				m.put(i*10, sizeOf(p))
			case 3:
				n := uint64(1 + r.IntN(5))
				reported += n
				b.gap(patterns.Gap{Missed: n, Exact: true, Reason: patterns.GapReason(fmt.Sprint(r.IntN(3)))})
				m.items = append(m.items, item{missing: n})
			default:
				number, missing := m.take()
				p, g, _ := b.take()
				require.Equal(t, number, numberOf(p), "seed %d", seed)
				require.Equal(t, missing, sum(g), "seed %d", seed)
			}
			require.Equal(t, put+reported, b.delivered+b.missed+uint64(b.waiting.Len()), "seed %d", seed)
			n, bytes, _ := m.waiting()
			require.Equal(t, n, b.waiting.Len())
			require.Equal(t, bytes, b.waiting.bytes)
			require.LessOrEqual(t, b.waiting.Len(), l.length)
		}
	}
}

// numbered is the body of that message, which is not 0, with so many bytes more than that
// takes.
func numbered(number, more int) []byte {
	return append(fmt.Append(nil, number, " "), make([]byte, more)...)
}

// numberOf is the number of a message, 0 if it is none.
func numberOf(p patterns.Publication) (number int) {
	_, _ = fmt.Sscan(string(p.Body), &number)
	return number
}

func sum(g *patterns.Gaps) (n uint64) {
	if g == nil {
		return 0
	}
	for _, gap := range *g {
		n += gap.Missed
	}
	return n
}

func TestGapsOfOnePlaceAreFew(t *testing.T) {
	// This test checks that what stands between two messages is bounded by the
	// number of reasons, however many publishers there are.
	b := &backlog{limits: limits{length: 2, bytes: 100, overflow: patterns.OverflowOldest}}
	for i := range 10000 {
		b.put(pub(fmt.Sprint(i), 1), 1)
		b.gap(patterns.Gap{From: fmt.Sprint(i), Missed: 1, Reason: []patterns.GapReason{patterns.GapLane, patterns.GapLost, patterns.GapRelay}[i%3]})
	}
	_, g, _ := b.take()
	require.LessOrEqual(t, len(*g), 4)
	require.Equal(t, uint64(2), uint64(b.waiting.Len()))
}
