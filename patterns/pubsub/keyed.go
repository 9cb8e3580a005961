// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
)

// secrecy is whether what a source publishes is for everybody in the network. It is
// the one or the other for life, so that nobody who passes it on can mix the two.
type secrecy uint32

const (
	unsure secrecy = iota
	public
	keyed // only for those who hold a key
)

// subject is what a source publishes in.
type subject struct {
	word string            // the group's first one, or rootGroup or rootForwards
	keys *security.Cluster // the node's own for the group; nil = of each topic's

	secrecy atomic.Uint32
	key     atomic.Uint64 // that sealed what came last; 0 = nothing is known
}

// is takes in what is said of it, and whether that agrees with what was known.
func (s *subject) is(now secrecy) bool {
	was := secrecy(s.secrecy.Load())
	if was == unsure {
		s.secrecy.CompareAndSwap(uint32(unsure), uint32(now)) // else another link was faster
		was = secrecy(s.secrecy.Load())
	}
	return was == now
}

// named is the same for the label of a group. It says whether that is the subject's.
// sure says that the source itself has said it.
func (s *subject) named(label string, sure bool) bool {
	word, key, is := cutLabel(label)
	if s.word != word || !s.is(is) {
		return false
	}
	if sure || s.key.Load() == 0 {
		s.key.Store(key)
	}
	return true
}

// cutLabel takes apart what groupKeys.label has made.
func cutLabel(label string) (word string, key uint64, is secrecy) {
	word, digits := name.CutRef(label)
	if digits == "" {
		return word, 0, public
	}
	key, _ = strconv.ParseUint(digits, 16, 64) // a reference has no others
	return word, key, keyed
}

// numberOf and idOf turn the name of a key into a number and back.
func numberOf(id security.KeyID) uint64 { return binary.BigEndian.Uint64(id[:]) }

func idOf(key uint64) (id security.KeyID) {
	binary.BigEndian.PutUint64(id[:], key)
	return id
}

// holders are the groups of that first word whose subscribers hold the key.
func (l *local) holders(word string, key uint64) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		l.mu.Lock()
		all := l.keyed[word] // it is never changed
		l.mu.Unlock()
		for _, g := range all {
			if g.keys.Now().Opens(idOf(key)) && !yield(g) {
				return
			}
		}
	}
}

// keyFor returns the keys of a group here that open what was sealed with that key; nil
// = there are none.
func (l *local) keyFor(word string, key uint64) *security.Cluster {
	for g := range l.holders(word, key) {
		return g.keys.Now()
	}
	return nil
}

// under returns what there is for a message that was sealed with that key: the
// subscriptions of whoever holds it, and of nobody else. nil = nobody does. Patterns
// that begin with a wildcard are not among them.
func (l *local) under(key uint64, topic string) (a *answer) {
	for g := range l.holders(env.FirstWord(topic), key) {
		a = a.with(g.finder.answer(g.name, topic))
	}
	return a
}

// underFor is under for a topic that came, in a group of that first word.
func (l *local) underFor(key uint64, word string, topic []byte) (a *answer) {
	for g := range l.holders(word, key) {
		if b := g.finder.answerFor(g.name, topic); b != nil {
			a = a.with(b)
		}
	}
	return a
}

func (a *answer) with(b *answer) *answer {
	if a == nil {
		return b
	}
	return a.joined(b)
}

// hears are the names of the groups here that a source's messages are for.
func (l *local) hears(s *subject) (groups []string) {
	if secrecy(s.secrecy.Load()) != keyed {
		return []string{s.word}
	}
	for g := range l.holders(s.word, s.key.Load()) {
		groups = append(groups, g.name)
	}
	return groups
}

// enlist notes a group that is under keys which not everybody has. mu is held.
func (l *local) enlist(g *group) {
	if !g.root && !g.keys.Common() {
		l.keyed[g.word] = append(slices.Clip(l.keyed[g.word]), g)
	}
}

// strike takes it out again. mu is held.
func (l *local) strike(g *group) {
	left := slices.DeleteFunc(slices.Clone(l.keyed[g.word]), func(o *group) bool { return o == g })
	if l.keyed[g.word] = left; len(left) == 0 {
		delete(l.keyed, g.word)
	}
}

// sealedWith names the key that has sealed the content of a message; 0 = it is none.
func sealedWith(content []byte) uint64 {
	_, body, err := wire.DecodeHeaders(content)
	if err != nil || len(body) < 16 {
		return 0
	}
	id, _ := security.SealedWith(body[16:])
	return numberOf(id)
}

// alone says whether nothing is sent to this node that the group does not want: other
// groups here may hold its keys, and publishers do not tell them apart.
func (l *local) alone(g *group) bool {
	l.mu.Lock()
	all := l.keyed[g.word]
	l.mu.Unlock()
	if len(all) < 2 || !slices.Contains(all, g) {
		return true
	}
	for _, o := range all {
		if _, exact := o.members(); !exact || o.only() == "" || o.only() != g.only() {
			return false
		}
	}
	return true
}

// only is the pattern that is all that the group wants, if it shares that with nobody.
func (g *group) only() (pattern string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.wanted {
		if len(g.wanted) > 1 || k.queue != "" {
			return ""
		}
		pattern = k.pattern
	}
	return pattern
}

// heard returns the subscriptions here that messages which came are for: they have that
// topic, and were sealed with that key, if they are not for everybody; nil = nobody's.
func (l *local) heard(in *incoming, key uint64, topic []byte) *answer {
	if !in.keyed {
		return l.own.answerFor("", topic)
	}
	return l.underFor(key, in.word, topic)
}

// heardHere returns the subscriptions here that a message is for which is published on
// this node with these keys, and was sealed with that one, if it was; nil = nobody's.
func (l *local) heardHere(keys *env.GroupKeys, key security.KeyID, topic string) *answer {
	switch {
	case !l.any():
		return nil
	case keys.Common():
		return l.own.answer("", topic)
	}
	return l.under(numberOf(key), topic)
}
