// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

const (
	tellAgain = 100 * time.Millisecond // a peer is told again whose lane was full
	askAgain  = time.Second            // a peer is asked again that has said something too fast
)

// ErrStale is returned for a statement that says nothing new: one with that number,
// or a larger one, holds already.
var ErrStale = errors.New("overlay: a statement with a larger number holds")

// errTooFast says that a statement of a peer's was not looked at.
var errTooFast = errors.New("overlay: statements come too fast")

// StatementHandler is what a node has to do with the statements of one topic.
type StatementHandler struct {
	// Max is how many subjects there may be. What goes beyond it is dropped, and
	// counted. Default 1.
	Max int
	// Signed says that Check verifies a signature, not a MAC: a peer may say fewer then.
	Signed bool
	// Yields says of a statement that it says no more than that nothing holds: where
	// there is no room, the one that has said so first goes. nil = of none.
	Yields func(*Statement) bool
	// Check returns an error unless the statement is true; it verifies proofs. It
	// may be called concurrently, only for what would be news.
	Check func(Statement) error
	// Heed is called for each statement that holds from now on, in the order of their
	// numbers. It must not block, nor state anything.
	Heed func(Statement)
}

// Board is where statements are: it takes those that peers send and those of this
// node, has their topic check them, and sends what is news to all peers, and all
// that holds to each that comes. A flood ends by itself: what is no news goes
// nowhere. Methods may be called concurrently.
type Board struct {
	o        *Overlay
	handlers map[Topic]StatementHandler // immutable after Start

	heeding sync.Mutex // held while Heed is called, so that their order stays

	// Guarded by mu.
	mu     sync.Mutex
	core   *statements
	sender bool  // somebody tells peers …
	more   bool  // … and is to look again
	timer  Timer // until a full lane is tried again; nil = none
	asking Timer // until peers are asked again; nil = none
}

func newBoard(o *Overlay) *Board {
	return &Board{o: o, handlers: make(map[Topic]StatementHandler), core: newStatements()}
}

// Statements is what all nodes of the network are told.
func (o *Overlay) Statements() *Board { return o.board }

// Handle sets the handler of a topic. Only before Start, once per topic.
func (b *Board) Handle(t Topic, h StatementHandler) {
	if b.o.started.Load() || b.handlers[t].Check != nil {
		panic("BUG: statements handled after Start, or twice for one topic")
	}
	b.handlers[t] = h
	b.core.topic(t, max(h.Max, 1), h.Yields)
}

// State tells all nodes s. It returns ErrStale if that is not news here, an
// error if there are too many subjects, or what Check says.
func (b *Board) State(s Statement) error { return b.consider(s, nil) }

// Held returns what holds about a topic, by subject.
func (b *Board) Held(t Topic) (all []Statement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range b.core.names() {
		if name.topic == t {
			all = append(all, b.core.held[name])
		}
	}
	return all
}

// Number is that of the statement about a subject that holds; 0 = there is none.
func (b *Board) Number(t Topic, subject string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.core.held[statementName{t, subject}].Number
}

// Renew has prove change the proofs of what holds about a topic, where it reports that it
// has: peers may have refused, or dropped, those before, so they are told again.
func (b *Board) Renew(t Topic, prove func(*Statement) bool) {
	for _, s := range b.Held(t) {
		if prove(&s) {
			b.mu.Lock()
			b.core.renew(s)
			b.mu.Unlock()
		}
	}
	b.tell()
}

// Drop takes out what holds about a topic unless keep says that it is still true, and
// returns it; peers are asked what holds if there is such. keep must not block.
func (b *Board) Drop(t Topic, keep func(Statement) bool) []Statement {
	b.mu.Lock()
	dropped := b.core.drop(t, keep)
	if len(dropped) > 0 {
		b.core.askAll(t)
	}
	b.mu.Unlock()
	if len(dropped) > 0 {
		b.tell()
	}
	return dropped
}

// Recheck tells that Check may find true what it did not before: peers that have said
// such are asked to say it again.
func (b *Board) Recheck(t Topic) {
	b.mu.Lock()
	b.core.recheck(t)
	b.mu.Unlock()
	b.tell()
}

// receive handles a frame of a peer's.
func (b *Board) receive(l *Link, body []byte) bool {
	var m wire.Statement
	if err := wire.DecodeControl(body, &m); err != nil {
		b.o.drops.Inc(dropStatement)
		return false
	}
	if m.GetNumber() == 0 {
		if !l.proofs.pass(b.o.now(), 1) {
			b.o.drops.Inc(dropProofs)
			return false
		}
		b.mu.Lock()
		b.core.asked(l.peer, m.GetTopic())
		b.mu.Unlock()
		b.tell()
		return false
	}
	err := b.consider(Statement{
		Topic: m.GetTopic(), Subject: string(m.GetSubject()), Number: m.GetNumber(), Body: m.GetBody(), Proof: m.GetProof(),
	}, l)
	switch {
	case err == nil, errors.Is(err, ErrStale):
	case errors.Is(err, errTooFast):
		b.o.drops.Inc(dropProofs)
	default:
		b.o.drops.Inc(dropStatement)
	}
	return false
}

// consider takes a statement in if it is news, and true. from is nil for this node's own.
func (b *Board) consider(s Statement, from *Link) error {
	h, known := b.handlers[s.Topic]
	if !known {
		return fmt.Errorf("overlay: no statements of topic %v are known", s.Topic)
	}
	var by peer.ID
	if from != nil {
		by = from.peer
	}
	for {
		verdict, checks := b.judge(&s, from, h.Signed)
		if verdict != judgeNews {
			return b.untaken(&s, by, verdict)
		}
		if err := h.Check(s); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.core.refuse(by, s.Topic)
			return err
		}
		b.heeding.Lock()
		b.mu.Lock()
		same := b.core.topics[s.Topic].checks == checks
		if same {
			verdict = b.core.take(s, by, int64(b.o.now()))
		}
		b.mu.Unlock()
		if same && verdict == judgeNews {
			h.Heed(s)
		}
		b.heeding.Unlock()
		switch {
		case !same: // it may be untrue by now
		case verdict == judgeNews:
			b.tell()
			return nil
		default:
			return b.untaken(&s, by, verdict)
		}
	}
}

// judge says what a statement would change, and how often it has changed what is found
// true.
func (b *Board) judge(s *Statement, from *Link, signed bool) (judgement, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	verdict := b.core.judge(s)
	if verdict == judgeNews && from != nil {
		price := 1
		if signed {
			price = signaturePrice
		}
		if !from.proofs.pass(b.o.now(), price) {
			verdict = judgeLate
		}
	}
	return verdict, b.core.topics[s.Topic].checks
}

// untaken notes what a peer has said in vain, and returns why.
func (b *Board) untaken(s *Statement, by peer.ID, verdict judgement) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch verdict {
	case judgeStale:
		b.core.knows(by, s)
		return ErrStale
	case judgeFull:
		b.core.refuse(by, s.Topic)
		return fmt.Errorf("overlay: too many statements of topic %v", s.Topic)
	}
	b.core.postpone(by, s.Topic)
	if b.asking == nil && !b.o.leaving() {
		b.asking = b.o.after("overlay/statements-late", askAgain, func() {
			b.mu.Lock()
			b.asking = nil
			b.core.askLate()
			b.mu.Unlock()
			b.tell()
		})
	}
	return errTooFast
}

// link notes what a link's event means for who has to be told.
func (b *Board) link(e PeerEvent) {
	b.mu.Lock()
	switch e.Type {
	case LinkUp:
		b.core.up(e.Peer)
	case LinkDown:
		b.core.down(e.Peer)
	}
	b.mu.Unlock()
	b.tell()
}

// tell sends what is owed, as far as lanes have room. One goroutine does at a time:
// what others add meanwhile, it sends.
func (b *Board) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more = true; b.sender || b.o.leaving() {
		return
	}
	b.sender = true
	for b.more {
		b.more = false
		full := false
		for _, p := range b.core.due() {
			full = !b.tellPeer(p) || full
		}
		if full && b.timer == nil {
			b.timer = b.o.after("overlay/statements", tellAgain, func() {
				b.mu.Lock()
				b.timer = nil
				b.mu.Unlock()
				b.tell()
			})
		}
	}
	b.sender = false
}

// tellPeer sends p what it is owed; false if its lane is full. mu is held, and
// released while something is sent.
func (b *Board) tellPeer(p peer.ID) bool {
	for {
		s, ok := b.core.next(p)
		if !ok {
			return true
		}
		b.mu.Unlock()
		err := b.send(p, &s)
		b.mu.Lock()
		switch {
		case errors.Is(err, ErrLaneFull):
			return false
		case errors.Is(err, ErrLinkDown), errors.Is(err, ErrClosed):
			return true // the link's event comes
		}
		b.core.told(p, &s)
	}
}

func (b *Board) send(p peer.ID, s *Statement) error {
	body, err := wire.AppendControl(nil, &wire.Statement{
		Topic: s.Topic, Subject: []byte(s.Subject), Number: s.Number, Body: s.Body, Proof: s.Proof,
	})
	if err != nil {
		return err
	}
	_, err = b.o.Link(p).Send(LaneCtl, wire.KindStatement, body)
	return err
}

// stop ends what is planned.
func (b *Board) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range []Timer{b.timer, b.asking} {
		if t != nil {
			t.Stop()
		}
	}
}
