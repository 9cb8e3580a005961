// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

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
			r := newReassembly(limit)
			for i, f := range c.fragments {
				_, _, drop := r.add(f)
				require.Equal(t, c.drops[i], drop, "fragment %d", i)
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
	r := newReassembly(1 << 20)
	for i := range uint32(maxPartials) {
		_, _, drop := r.add(piece(i, true, false, 2, 1))
		require.Zero(t, drop)
	}
	_, _, drop := r.add(piece(maxPartials, true, false, 2, 1))
	require.Equal(t, DropReassemblyFull, drop)
	r.add(piece(0, false, true, 0, 1))
	_, _, drop = r.add(piece(maxPartials, true, false, 2, 1))
	require.Zero(t, drop)
}

// This test checks that memory is taken for what has arrived, not for what is
// announced.
func TestReassemblyDoesNotTrustTheTotal(t *testing.T) {
	r := newReassembly(16 << 20)
	r.add(piece(1, true, false, 16<<20, 10))
	require.LessOrEqual(t, cap(r.partials[1].buf), 100)
	for range 50 {
		r.add(piece(1, false, false, 0, 1000))
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
		r := newReassembly(100)
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			p, err := wire.DecodeFragment(data[1 : 1+n])
			data = data[1+n:]
			if err != nil {
				continue
			}
			k, body, _ := r.add(p)
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
