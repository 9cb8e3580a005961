// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ecdh"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Times of ephemeral keys.
const (
	// EphemeralTime is how long callers are told to use one ephemeral key of a node.
	EphemeralTime = time.Hour
	// EphemeralOverlap is how long a key is kept after that: for callers that have not
	// heard of the next one, and for the replies to requests that are under way. What
	// has a later deadline is kept until then, see Agreement.Keep.
	EphemeralOverlap = 5 * time.Minute
)

// maxAgreements bounds the agreements that are remembered of one key, as a caller and
// as a member each: between one and two times as many. Forgetting one costs a
// multiplication on the curve.
const maxAgreements = 4096

const (
	// maxKept bounds the agreements that are kept for later deadlines, of all keys
	// together: callers choose deadlines.
	maxKept = 2 * maxAgreements

	// agreedSubkeys is the bound of an agreement's subkeys of each kind, in place of
	// subkeyCache: there are many agreements, and a caller chooses its salts. Two nodes
	// need one for each cluster key that both have.
	agreedSubkeys = 32
)

// EphemeralKey is the public half of a node's X25519 key (RFC 7748) of an hour. It is
// in the signed records of the node's members.
type EphemeralKey [32]byte

// IsZero says that there is none.
func (k EphemeralKey) IsZero() bool { return k == EphemeralKey{} }

// id is what tells the keys of one node apart.
func (k EphemeralKey) id() (id [ephemeralIDSize]byte) { copy(id[:], k[:]); return id }

const ephemeralIDSize = 8

// ParseEphemeralKey reads 32 bytes; none are no key.
func ParseEphemeralKey(b []byte) (k EphemeralKey, ok bool) {
	if len(b) != len(k) {
		return k, false
	}
	copy(k[:], b)
	return k, !k.IsZero()
}

// Ephemerals are the ephemeral keys of one node, and what it has agreed on with others
// by them. A key is replaced after EphemeralTime, and erased after EphemeralOverlap
// more, with all agreements: what they have sealed is open to nobody then, whatever
// other keys leak. They are in memory only, so a restart erases them, too. Time is
// what the calls of Advance say; the hour goes by the node's own clock, and others
// need not agree with it. All methods may be called concurrently.
type Ephemerals struct {
	newest atomic.Pointer[EphemeralKey]

	mu   sync.Mutex   // held while a key is made
	rand io.Reader    // guarded by mu
	keys []*ephemeral // guarded by mu; newest first; an old one is there for its agreements only
}

// ephemeral is one key. All but public is guarded by the mu of its Ephemerals.
type ephemeral struct {
	public   EphemeralKey
	secret   hidden[ecdh.PrivateKey] // empty = erased
	ends     time.Time               // when the next one takes its place
	asked    generations[EphemeralKey, *Agreement]
	answered generations[EphemeralKey, *Agreement]
	kept     []*Agreement // for later deadlines
}

// NewEphemerals makes the first key. rand must not fail.
func NewEphemerals(rand io.Reader, now time.Time) *Ephemerals {
	e := &Ephemerals{rand: rand}
	e.Advance(now)
	return e
}

// Public is the key that callers are to use now.
func (e *Ephemerals) Public() EphemeralKey { return *e.newest.Load() }

// Advance replaces the key if it is an hour old, and erases what has had its time. It
// returns when there is something to do again, and whether Public is another one now.
func (e *Ephemerals) Advance(now time.Time) (next time.Time, changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.keys) == 0 || !now.Before(e.keys[0].ends) {
		k := newEphemeral(e.rand, now.Add(EphemeralTime))
		e.keys = slices.Insert(e.keys, 0, k)
		e.newest.Store(&k.public)
		changed = true
	}
	next = e.keys[0].ends
	e.keys = slices.DeleteFunc(e.keys, func(k *ephemeral) bool {
		at, over := k.expire(now)
		if !over && at.Before(next) {
			next = at
		}
		return over
	})
	e.boundKept()
	return next, changed
}

// Erase erases all keys and agreements, as when the node ends: what they have sealed is
// open to nobody here any more, and nothing else is sealed with them.
func (e *Ephemerals) Erase() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.keys {
		for _, a := range slices.Concat(k.asked.all(), k.answered.all(), k.kept) {
			a.erase()
		}
		k.secret, k.kept = hidden[ecdh.PrivateKey]{}, nil
		k.asked, k.answered = generations[EphemeralKey, *Agreement]{}, generations[EphemeralKey, *Agreement]{}
	}
}

// boundKept erases of what is kept beyond maxKept that with the latest deadlines. mu is
// held.
func (e *Ephemerals) boundKept() {
	var all []*Agreement
	for _, k := range e.keys {
		all = append(all, k.kept...)
	}
	if len(all) <= maxKept {
		return
	}
	until := make(map[*Agreement]time.Time, len(all)) // callers may change it meanwhile
	for _, a := range all {
		until[a] = a.until()
	}
	slices.SortStableFunc(all, func(a, b *Agreement) int { return until[a].Compare(until[b]) })
	for _, a := range all[:maxKept] {
		delete(until, a)
	}
	for _, k := range e.keys {
		k.kept = slices.DeleteFunc(k.kept, func(a *Agreement) bool {
			_, beyond := until[a]
			if beyond {
				a.erase()
			}
			return beyond
		})
	}
}

func newEphemeral(rand io.Reader, ends time.Time) *ephemeral {
	var seed [32]byte
	mustRead(rand, seed[:])
	secret, err := ecdh.X25519().NewPrivateKey(seed[:]) // GenerateKey would not take rand
	clear(seed[:])
	if err != nil {
		panic("BUG: x25519: " + err.Error())
	}
	k := &ephemeral{secret: hide(secret), ends: ends}
	copy(k.public[:], secret.PublicKey().Bytes())
	k.asked.bound, k.answered.bound = maxAgreements, maxAgreements
	return k
}

// expire erases what has had its time. over says that nothing is left, else the next
// time is at.
func (k *ephemeral) expire(now time.Time) (at time.Time, over bool) {
	at = k.ends.Add(EphemeralOverlap)
	if now.Before(at) {
		return at, false
	}
	if !k.secret.empty() {
		k.secret = hidden[ecdh.PrivateKey]{}
		k.kept = slices.Concat(k.asked.all(), k.answered.all())
		k.asked, k.answered = generations[EphemeralKey, *Agreement]{}, generations[EphemeralKey, *Agreement]{}
	}
	at = time.Time{}
	k.kept = slices.DeleteFunc(k.kept, func(a *Agreement) bool {
		until, erased := a.expire(now)
		if !erased && (at.IsZero() || until.Before(at)) {
			at = until
		}
		return erased
	})
	return at, len(k.kept) == 0
}

// With returns what this node agrees on with a member's node, as the one that asks. It
// returns ErrUnauthorized for a key that is none, and ErrForgotten after Erase.
func (e *Ephemerals) With(member EphemeralKey) (*Agreement, error) {
	e.mu.Lock()
	k := e.keys[0]
	a, ok := k.asked.get(member)
	e.mu.Unlock()
	if ok {
		return a, nil
	}
	return e.agree(k, member, true)
}

// answered returns the key of this node that has such an id, nil = it is no more, and
// what a caller has agreed on with it before.
func (e *Ephemerals) answered(id [ephemeralIDSize]byte, caller EphemeralKey) (k *ephemeral, a *Agreement) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.keys {
		if k.public.id() == id && !k.secret.empty() {
			a, _ = k.answered.get(caller)
			return k, a
		}
	}
	return nil, nil
}

// agree makes an agreement of k, as the one that asks or the one that is asked.
func (e *Ephemerals) agree(k *ephemeral, other EphemeralKey, asks bool) (*Agreement, error) {
	e.mu.Lock()
	secret := k.secret
	e.mu.Unlock()
	if secret.empty() {
		return nil, ErrForgotten
	}
	public, err := ecdh.X25519().NewPublicKey(other[:])
	if err != nil {
		return nil, fmt.Errorf("%w: ephemeral key", ErrUnauthorized)
	}
	z, err := secret.get().ECDH(public)
	if err != nil { // the point is of low order
		return nil, fmt.Errorf("%w: ephemeral key", ErrUnauthorized)
	}
	s := &agreed{caller: k.public, member: other, ends: k.ends.Add(EphemeralOverlap), secret: z}
	s.subkeys.seals.bound, s.subkeys.opened.bound = agreedSubkeys, agreedSubkeys
	if !asks {
		s.caller, s.member = other, k.public
	}
	a := &Agreement{hide(s)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if k.secret.empty() { // since
		a.erase()
		return nil, ErrForgotten
	}
	in := &k.answered
	if asks {
		in = &k.asked
	}
	if first, ok := in.get(other); ok { // somebody was faster: there is one
		a.erase()
		return first, nil
	}
	in.put(other, a)
	return a, nil
}

// Agreement is what the node of a caller and that of a member have agreed on, by their
// ephemeral keys: a secret that goes into what both seal for each other, and is
// erased when its time is over. Its methods may be called concurrently.
type Agreement struct{ state hidden[agreed] }

type agreed struct {
	// Immutable.
	caller, member EphemeralKey
	ends           time.Time // unless something is under way then

	subkeys subkeys

	mu     sync.Mutex
	secret []byte    // guarded by mu; nil = erased
	keep   time.Time // guarded by mu
}

// Member is the member's key.
func (a *Agreement) Member() EphemeralKey { return a.state.get().member }

// Keep has the agreement last until then, for a request with that deadline. Of very many
// those with the latest deadlines are erased before.
func (a *Agreement) Keep(until time.Time) {
	s := a.state.get()
	if !until.After(s.ends) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.keep) {
		s.keep = until
	}
}

// expire erases the agreement unless something is under way until later.
func (a *Agreement) expire(now time.Time) (until time.Time, erased bool) {
	if until = a.until(); now.Before(until) {
		return until, false
	}
	a.erase()
	return until, true
}

// until is the latest deadline of what is under way.
func (a *Agreement) until() time.Time {
	s := a.state.get()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep
}

// erase overwrites the secret and forgets all that was derived from it.
func (a *Agreement) erase() {
	s := a.state.get()
	s.mu.Lock()
	clear(s.secret)
	s.secret = nil
	s.mu.Unlock()
	s.subkeys.forget()
}

// with returns key and what was agreed on, to derive from; false if that is erased. The
// caller clears the slice.
func (a *Agreement) with(key *Key) ([]byte, bool) {
	s := a.state.get()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		return nil, false
	}
	return slices.Concat(key[:], s.secret), true
}

// String shows nothing of them.
func (e *Ephemerals) String() string { return "ephemeral keys " + redacted }

// Format writes String, whatever the verb.
func (e *Ephemerals) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.String()) }

// String shows nothing of it.
func (a *Agreement) String() string { return "agreement " + redacted }

// Format writes String, whatever the verb.
func (a *Agreement) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, a.String()) }
