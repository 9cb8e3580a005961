// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/link"
)

// still returns wires whose clock stands, with a latency of 1 ms.
func still() *wires {
	w := newWires(1, func() time.Duration { return 0 })
	w.setLinks(func(string, string) link.Model { return link.Model{Latency: time.Millisecond, Loss: 0} })
	return w
}

func (w *wires) fate(from, to string) fate {
	_, f := w.packet(from, to, make([]byte, 40))
	return f
}

// TestFaultsHitWhomTheyName checks each fault of wires: whom it hits, whom it
// spares, and that what ends it ends it.
func TestFaultsHitWhomTheyName(t *testing.T) {
	a, b := []string{"a"}, []string{"b"}
	for _, c := range []struct {
		name             string
		begin            func(w *wires)
		there, back, out fate // from a to b, from b to a, from a to c
		end              func(w *wires)
	}{
		{"cut", func(w *wires) { w.cutOff(a, b, true) }, cut, passed, passed, func(w *wires) { w.cutOff(a, b, false) }},
		{"cut, heal", func(w *wires) { w.cutOff(a, b, true) }, cut, passed, passed, func(w *wires) { w.heal(false) }},
		{"cut both", func(w *wires) { w.cutOff([]string{"a", "b"}, []string{"a", "b"}, true) }, cut, cut, passed, func(w *wires) { w.heal(true) }},
		{"clog", func(w *wires) { w.clog(a, b) }, held, passed, passed, func(w *wires) { w.unclog(a, b) }},
		{"power of b", func(w *wires) { w.power("b", false) }, silent, silent, passed, func(w *wires) { w.power("b", true) }},
		{"power of a", func(w *wires) { w.power("a", false) }, silent, silent, silent, func(w *wires) { w.power("a", true) }},
		{"degrade", func(w *wires) { w.degrade(a, b, link.Model{Loss: link.AllLost}) }, lost, lost, passed, func(w *wires) { w.heal(false) }},
	} {
		w := still()
		for range 2 { // it can happen again
			c.begin(w)
			require.Equal(t, []fate{c.there, c.back, c.out},
				[]fate{w.fate("a", "b"), w.fate("b", "a"), w.fate("a", "c")}, c.name)
			c.end(w)
			require.Equal(t, []fate{passed, passed, passed},
				[]fate{w.fate("a", "b"), w.fate("b", "a"), w.fate("a", "c")}, c.name)
		}
	}
}

// TestAClogHasABound checks how much is held, and that it goes on in order.
func TestAClogHasABound(t *testing.T) {
	w := still()
	w.clog([]string{"a"}, []string{"b"})
	for i := range maxHeld {
		_, f := w.packet("a", "b", []byte{byte(i)})
		require.Equal(t, held, f)
	}
	require.Equal(t, clogged, w.fate("a", "b"))
	all := w.unclog([]string{"a"}, []string{"b"})
	require.Len(t, all, maxHeld)
	for i, p := range all {
		require.Equal(t, parcel{time.Millisecond, "b", []byte{byte(i)}}, p)
	}
}

// TestCalmEndsRandomLossOnly checks that the latency stays.
func TestCalmEndsRandomLossOnly(t *testing.T) {
	w := newWires(1, func() time.Duration { return 0 })
	w.setLinks(func(string, string) link.Model { return link.Model{Latency: time.Millisecond, Loss: link.AllLost} })
	require.Equal(t, lost, w.fate("a", "b"))
	w.heal(false)
	require.Equal(t, lost, w.fate("a", "b"))
	w.heal(true)
	for _, to := range []string{"b", "c"} { // known and new
		arrive, f := w.packet("a", to, nil)
		require.Equal(t, passed, f)
		require.Equal(t, time.Millisecond, arrive)
	}
}

// TestPercentilesOfLateness checks them at their resolution.
func TestPercentilesOfLateness(t *testing.T) {
	var l lateness
	require.Zero(t, l.percentile(99))
	for i := range 100 {
		l.add(time.Duration(i) * 100 * time.Microsecond)
	}
	require.Equal(t, 4910*time.Microsecond, l.percentile(50))
	require.Equal(t, 9810*time.Microsecond, l.percentile(99))
	l.add(time.Hour)
	require.Equal(t, 10*time.Millisecond, l.percentile(100))
	l.add(-1)
}
