// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// parcel is a packet that was held and goes on now.
type parcel struct {
	arrive time.Duration
	to     string
	packet []byte
}

// setLinks changes the model of every wire that nothing degrades.
func (w *wires) setLinks(of func(from, to string) link.Model) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of = of
	w.restore(false)
}

// cutOff cuts the wires from the ones to the others, or mends them.
func (w *wires) cutOff(from, to []string, on bool) {
	w.each(from, to, func(x *wire) { x.cut = on })
}

// clog stops the wires from the ones to the others without a loss.
func (w *wires) clog(from, to []string) {
	w.each(from, to, func(x *wire) { x.clogged = true })
}

// unclog undoes clog and returns what goes on.
func (w *wires) unclog(from, to []string) []parcel {
	var all []parcel
	w.eachWay(from, to, func(d way, x *wire) { all = append(all, w.release(d, x)...) })
	return all
}

// release unclogs one wire. The caller holds mu.
func (w *wires) release(d way, x *wire) []parcel {
	var all []parcel
	for _, p := range x.held {
		if w.off[d.from] || w.off[d.to] || x.cut {
			break
		}
		if arrive, f := w.pass(x, p); f == passed {
			all = append(all, parcel{arrive, d.to, p})
		}
	}
	x.clogged, x.held = false, nil
	return all
}

// corrupt spoils the next segment from one node to another.
func (w *wires) corrupt(from, to string) {
	w.each([]string{from}, []string{to}, func(x *wire) { x.spoil = true })
}

// degrade gives the wires between the ones and the others another model, in
// both directions, until heal.
func (w *wires) degrade(a, b []string, m link.Model) {
	set := func(x *wire) { x.degraded = true; x.direction.SetModel(m) }
	w.each(a, b, set)
	w.each(b, a, set)
}

// power turns a node on or off.
func (w *wires) power(name string, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off[name] = !on
}

// heal ends every fault of every wire and returns what goes on; with calm
// nothing is lost at random any more, either.
func (w *wires) heal(calm bool) []parcel {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []parcel
	for d, x := range w.ways { // the order matters to nobody: they are different wires
		x.cut, x.spoil, x.degraded = false, false, false
		all = append(all, w.release(d, x)...)
	}
	if of := w.of; calm {
		w.of = func(from, to string) link.Model {
			m := of(from, to)
			m.Loss = 0
			return m
		}
	}
	w.restore(true)
	return all
}

// restore gives wires the models that they have without a fault. The caller
// holds mu.
func (w *wires) restore(all bool) {
	for d, x := range w.ways {
		if all || !x.degraded {
			x.direction.SetModel(w.of(d.from, d.to))
		}
	}
}

// each does something to every wire from the ones to the others.
func (w *wires) each(from, to []string, f func(*wire)) {
	w.eachWay(from, to, func(_ way, x *wire) { f(x) })
}

func (w *wires) eachWay(from, to []string, f func(way, *wire)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range from {
		for _, b := range to {
			if a != b {
				f(way{a, b}, w.at(a, b))
			}
		}
	}
}
