// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/internal/wire"
)

var someTime = time.Unix(1000, 0)

func piece(channel uint32, first, last bool, total uint32, payload int) wire.Fragment {
	return wire.Fragment{
		Channel: channel, First: first, Last: last, Kind: wire.KindReply, Total: total,
		Payload: make([]byte, payload),
	}
}

// This test checks each reason for which a received message is thrown away,
// and that nothing is kept of it.
func TestReassemblyRefusesWhatIsWrong(t *testing.T) {
	const limit = 1000
	for name, c := range map[string]struct {
		fragments []wire.Fragment
		drops     []Drop
		pending   int
	}{
		"whole at once":      {[]wire.Fragment{piece(1, true, true, 5, 5)}, []Drop{DropNone}, 0},
		"in order":           {[]wire.Fragment{piece(1, true, false, 15, 5), piece(1, false, false, 0, 5), piece(1, false, true, 0, 5)}, []Drop{0, 0, 0}, 0},
		"too large":          {[]wire.Fragment{piece(1, true, false, 1001, 5), piece(1, false, true, 0, 5)}, []Drop{DropMessageTooLarge, DropFragmentOrphan}, 0},
		"absurdly large":     {[]wire.Fragment{piece(1, true, false, 1<<32-1, 5)}, []Drop{DropMessageTooLarge}, 0},
		"more than said":     {[]wire.Fragment{piece(1, true, false, 9, 5), piece(1, false, true, 0, 5)}, []Drop{0, DropFragmentMismatch}, 0},
		"less than said":     {[]wire.Fragment{piece(1, true, false, 11, 5), piece(1, false, true, 0, 5)}, []Drop{0, DropFragmentMismatch}, 0},
		"all but no last":    {[]wire.Fragment{piece(1, true, false, 10, 5), piece(1, false, false, 0, 5)}, []Drop{0, DropFragmentMismatch}, 0},
		"unknown channel":    {[]wire.Fragment{piece(2, false, true, 0, 5)}, []Drop{DropFragmentOrphan}, 0},
		"begun twice":        {[]wire.Fragment{piece(1, true, false, 10, 5), piece(1, true, false, 10, 5), piece(1, false, true, 0, 5)}, []Drop{0, DropFragmentMismatch, 0}, 0},
		"too much at a time": {[]wire.Fragment{piece(1, true, false, 1000, 5), piece(2, true, false, 1000, 5), piece(3, true, false, 1000, 5), piece(4, true, false, 6, 5)}, []Drop{0, 0, 0, DropReassemblyFull}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReassembly(limit, unbounded{}, nil)
			for i, f := range c.fragments {
				require.Equal(t, c.drops[i], add(r, f), "fragment %d", i)
			}
			require.Equal(t, c.pending, r.pending())
			if c.pending == 0 {
				require.Zero(t, r.bytes)
			}
		})
	}
}

// This test checks the bound on the number of incomplete messages.
func TestReassemblyBoundsTheNumberOfMessages(t *testing.T) {
	r := newReassembly(1<<20, unbounded{}, nil)
	for i := range uint32(maxPartials) {
		require.Zero(t, add(r, piece(i, true, false, 2, 1)))
	}
	require.Equal(t, DropReassemblyFull, add(r, piece(maxPartials, true, false, 2, 1)))
	require.Zero(t, add(r, piece(0, false, true, 0, 1)))
	require.Zero(t, add(r, piece(maxPartials, true, false, 2, 1)))
}

// This test checks that memory is taken for what has arrived, not for what is
// announced.
func TestReassemblyDoesNotTrustTheTotal(t *testing.T) {
	r := newReassembly(16<<20, unbounded{}, nil)
	r.add(someTime, piece(1, true, false, 16<<20, 10))
	require.LessOrEqual(t, cap(r.partials[1].buf), 100)
	for range 50 {
		r.add(someTime, piece(1, false, false, 0, 1000))
	}
	require.LessOrEqual(t, cap(r.partials[1].buf), 2*50_010)
}

// FuzzReassembly feeds fragments in any order: nothing panics, and the bounds
// hold after each.
func FuzzReassembly(f *testing.F) {
	for _, p := range []wire.Fragment{piece(1, true, false, 9, 5), piece(1, false, true, 0, 4), piece(2, true, true, 3, 3)} {
		b := p.AppendTo(nil)
		f.Add(append([]byte{byte(len(b))}, b...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReassembly(100, unbounded{}, nil)
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			p, err := wire.DecodeFragment(data[1 : 1+n])
			data = data[1+n:]
			if err != nil {
				continue
			}
			k, body, _ := r.add(someTime, p)
			require.LessOrEqual(t, len(body), 100)
			require.True(t, k != 0 || body == nil)
			total, held := 0, 0
			for _, p := range r.partials {
				total += p.total
				held += cap(p.buf)
			}
			require.Equal(t, r.bytes, total)
			require.LessOrEqual(t, total, 200)
			require.LessOrEqual(t, held, total)
			require.LessOrEqual(t, len(r.partials), maxPartials)
		}
	})
}

// bytesLeft is a Budget of so many bytes.
type bytesLeft struct{ left int }

func (p *bytesLeft) Take(n int) bool {
	if n > p.left {
		return false
	}
	p.left -= n
	return true
}
func (p *bytesLeft) Give(n int) { p.left += n }

// This test checks that incomplete messages take of the budget what they take of the
// memory, that a message is refused when there is no more, and that all is given back
// however they end.
func TestReassemblyStaysWithinItsBudget(t *testing.T) {
	b := &bytesLeft{left: 100}
	r := newReassembly(1000, b, nil)
	require.Zero(t, add(r, piece(1, true, false, 1000, 20)))
	require.Equal(t, 20, b.left, "four times the first fragment")
	require.Equal(t, DropFragmentShare, add(r, piece(2, true, false, 1000, 20)))
	require.Equal(t, 1, r.pending())
	require.Equal(t, 20, b.left)
	require.Equal(t, DropFragmentOrphan, add(r, piece(2, false, false, 0, 20)), "it is not waited for")
	require.Equal(t, DropFragmentShare, add(r, piece(1, false, false, 0, 200)))
	require.Equal(t, 100, b.left)

	require.Zero(t, add(r, piece(3, true, true, 300, 300)), "whole at once: nothing is held")
	require.Zero(t, add(r, piece(4, true, false, 20, 10)))
	require.Equal(t, 80, b.left)
	require.Zero(t, add(r, piece(4, false, true, 0, 10)))
	require.Equal(t, 100, b.left, "complete")
	require.Zero(t, add(r, piece(5, true, false, 20, 10)))
	require.Equal(t, 1, r.clear())
	require.Equal(t, 100, b.left)
}

func add(r *reassembly, f wire.Fragment) Drop {
	_, _, drop := r.add(someTime, f)
	return drop
}

// This test checks that the memory of messages of several fragments serves for those that
// come next, and that what somebody keeps stays as it is.
func TestMemoryOfWhatNobodyKeepsIsUsedAgain(t *testing.T) {
	const count, total, first = 200, 66_000, 60_000
	r := newReassembly(1<<20, unbounded{}, &wire.Bodies{})
	take := func(value byte, kept bool) (body []byte) {
		f := piece(1, true, false, total, first)
		copy(f.Payload, bytes.Repeat([]byte{value}, first))
		require.Zero(t, add(r, f))
		f = piece(1, false, true, 0, total-first)
		copy(f.Payload, bytes.Repeat([]byte{value}, total-first))
		k, body, _ := r.add(someTime, f)
		require.Equal(t, bytes.Repeat([]byte{value}, total), body)
		r.handled(k, body, kept)
		return body
	}
	places := make(map[*byte]bool)
	for i := range count {
		places[&take(byte(i), false)[0]] = true
	}
	require.Less(t, len(places), count) // far less, were it not for the race detector
	var kept [][]byte
	for i := range count {
		kept = append(kept, take(byte(i), true))
		take(255, i%2 == 0)
	}
	for i, body := range kept {
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, total), body)
	}
}

// This test checks that a message without a new fragment for half a minute is given
// up, and one that comes more slowly than anybody waits for.
func TestReassemblyHasATimeLimit(t *testing.T) {
	r := newReassembly(16<<20, unbounded{}, nil)
	now := someTime
	const total = 60 * fragmentRate
	r.add(now, piece(1, true, false, total, 1))
	r.add(now, piece(2, true, false, total, 1))
	now = now.Add(fragmentIdle - 1)
	require.Zero(t, r.expire(now))
	r.add(now, piece(1, false, false, 0, 1))
	require.Equal(t, 1, r.expire(now.Add(1)))
	require.Contains(t, r.partials, uint32(1))
	for now.Sub(someTime) < fragmentIdle+time.Minute-1 {
		require.Zero(t, r.expire(now))
		r.add(now, piece(1, false, false, 0, 1))
		now = now.Add(fragmentIdle / 2)
	}
	require.Equal(t, 1, r.expire(someTime.Add(fragmentIdle+time.Minute)))
	require.Zero(t, r.bytes)
}

// bubbleClock is the clock of a synctest bubble.
type bubbleClock struct{}

func (bubbleClock) Now() time.Time { return time.Now() }
func (bubbleClock) AfterFunc(_ string, d time.Duration, f func()) Timer {
	return time.AfterFunc(d, f)
}

// This test checks that nobody has to send anything for an incomplete message to be
// given up, that its memory is given back and counted, also when the session ends,
// and that nothing is put together after that.
func TestHalfSentMessagesAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New[string](2000)
		held := b.Used
		drops := make(map[Drop]int)
		var mu sync.Mutex
		cfg := &Config{Seam: Seam{Clock: bubbleClock{}}, Dropped: func(why Drop, n int) {
			mu.Lock()
			defer mu.Unlock()
			drops[why] += n
		}}
		i := &inbox{cfg: cfg, parts: newReassembly(1<<20, b.Of("peer"), nil)}
		i.join(piece(1, true, false, 500, 100))
		time.Sleep(fragmentIdle / 2)
		i.join(piece(2, true, false, 500, 100))
		require.Equal(t, 800, held())
		time.Sleep(2 * fragmentIdle)
		synctest.Wait()
		require.Zero(t, held())
		mu.Lock()
		require.Equal(t, map[Drop]int{DropFragmentLate: 2}, drops)
		mu.Unlock()

		i.join(piece(3, true, false, 500, 100))
		i.lost()
		require.Zero(t, held())
		require.Equal(t, 1, drops[DropPartialLost])
		_, _, drop := i.join(piece(4, true, false, 500, 100))
		require.Equal(t, DropFragmentOrphan, drop)
		require.Zero(t, held())
		time.Sleep(2 * fragmentIdle) // the timer ends by itself
	})
}
