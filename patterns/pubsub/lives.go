// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire"
)

// lives are the lives (env.LifeOf) of the groups that this node listens to. What was
// addressed to an earlier life is not for the subscriptions of today, which began later:
// they would get a part of it, and never hear how much is missing.
type lives struct {
	incarnation uint64   // immutable
	now         sync.Map // first word → []living, which nobody changes

	mu    sync.Mutex    // serializes changes
	ended atomic.Uint32 // counts the lives that have ended; its low 16 bits are the next one's
}

// living is the life of one group of a first word; those under other keys have their own.
type living struct {
	of  *group
	tag uint16
}

// begin begins a life of the group, and ends the one before, if there is one.
func (t *lives) begin(g *group) (life uint16) {
	t.end(g)
	t.mu.Lock()
	defer t.mu.Unlock()
	life = uint16(t.ended.Load())
	t.now.Store(g.word, append(slices.Clip(t.of(g.word)), living{g, wire.LifeTag(t.incarnation, life)}))
	return life
}

// end ends the life of the group, if it has one.
func (t *lives) end(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.of(g.word)
	left := slices.DeleteFunc(slices.Clone(was), func(l living) bool { return l.of == g })
	switch {
	case len(left) == len(was):
		return
	case len(left) == 0:
		t.now.Delete(g.word)
	default:
		t.now.Store(g.word, left)
	}
	t.ended.Add(1)
}

func (t *lives) of(word string) []living {
	all, _ := t.now.Load(word)
	is, _ := all.([]living)
	return is
}

// has says whether what is in a run is for a life of today. A node that has never
// stopped listening to anything has no earlier one.
func (t *lives) has(word string, run uint32) bool {
	tag, all := wire.RunTag(run), t.of(word)
	if len(all) == 0 {
		return t.ended.Load() == 0 && tag == wire.LifeTag(t.incarnation, 0)
	}
	return slices.ContainsFunc(all, func(l living) bool { return l.tag == tag })
}
