// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
)

// dropReason is why the client, or its relay after the client was told that all
// was well, did not send what the program gave it.
type dropReason uint8

const (
	dropTooLarge   dropReason = iota // a publication was beyond a limit
	dropWouldBlock                   // TryPublish would have had to wait
	dropRefused                      // the relay could not publish it after all
	dropLost                         // it was lost with the relay, which may have published it
	dropReasons
)

// String implements drop.Reason.
func (r dropReason) String() string {
	return [...]string{"publish.too_large", "publish.would_block", "publish.refused", "publish.lost"}[r]
}

// publisher is what a client publishes, over all sessions. All methods may be
// called concurrently.
type publisher struct {
	// Immutable.
	link    *link
	drops   drop.Counts[dropReason]
	refused func(error)
	unsaid  atomic.Int64 // messages lost, of which Close has to tell

	grow growing

	mu       sync.Mutex
	confirms map[uint64]chan wire.Done // guarded by mu; who wants to hear of a publication
	doubtful []session.Message         // guarded by mu; of the last session: the relay may have received them
	again    []session.Message         // guarded by mu; for the next session: nobody has looked at them
}

func newPublisher(l *link, refused func(error)) *publisher {
	return &publisher{link: l, drops: drop.New(dropReasons), refused: refused, confirms: map[uint64]chan wire.Done{}}
}

// headRoom is where what travels before a body is encoded, if it is not long.
type headRoom [128]byte

// publish sends one message, and waits for room in the lane. Most have it at once:
// what bounds the wait is made for the others.
func (p *publisher) publish(ctx context.Context, topic string, m patterns.Message) error {
	var room headRoom
	head, err := p.put(room[:0], topic, m)
	if err == nil || head == nil {
		return err
	}
	ctx, cancel := p.link.limited(ctx)
	defer cancel()
	return p.refuse(p.link.sendWait(ctx, wire.LanePub, wire.KindPublish, head, m.Body))
}

// try is publish without waiting.
func (p *publisher) try(topic string, m patterns.Message) error {
	var room headRoom
	head, err := p.put(room[:0], topic, m)
	if err == nil || head == nil {
		return err
	}
	if errors.Is(err, overlay.ErrLaneFull) || errors.Is(err, overlay.ErrLinkDown) {
		err = patterns.ErrWouldBlock
	}
	return p.refuse(err)
}

// confirm is publish, and waits for the relay's word.
func (p *publisher) confirm(ctx context.Context, id uint64, topic string, m patterns.Message) (wire.Done, error) {
	answer := make(chan wire.Done, 1)
	p.mu.Lock()
	p.confirms[id] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.confirms, id)
		p.mu.Unlock()
	}()
	f := wire.LeafPublish{ID: id, Topic: topic}
	if deadline, limited := ctx.Deadline(); limited {
		f.Deadline = p.link.LinkTime(deadline)
	}
	headers, _, err := p.check(topic, m)
	if err == nil {
		head := wire.AppendHeaders(f.AppendHead(nil), headers)
		err = p.refuse(p.link.sendWait(ctx, wire.LanePub, wire.KindPublish, head, m.Body))
	}
	if err != nil {
		return wire.Done{}, err
	}
	select {
	case done := <-answer:
		return done, nil
	case <-ctx.Done():
		return wire.Done{}, &patterns.DeadlineError{Cause: cause(ctx), MaybeRan: true}
	case <-p.link.closed:
		return wire.Done{}, patterns.ErrInterrupted
	}
}

// put sends one message if the lane has room, behind others where it can. head is what
// travels before its body; nil = it can't be sent at all.
func (p *publisher) put(dst []byte, topic string, m patterns.Message) (head []byte, err error) {
	headers, n, err := p.check(topic, m)
	if err != nil {
		return nil, err
	}
	f := wire.LeafPublish{Topic: topic}
	if n <= growBytes/4 {
		f.ID = wire.SeveralPublications
	}
	head = f.AppendHead(dst)
	if f.ID == 0 {
		head = wire.AppendHeaders(head, headers)
		_, err = p.link.Send(wire.LanePub, wire.KindPublish, head, m.Body)
		return head, err
	}
	own := len(head)
	head = wire.AppendHeaders(wire.AppendMessage(head, "", nil, n), headers)
	return head, p.grow.put(p.link, topic, head, own, m.Body)
}

// check says why a message can't be sent, or how many bytes headers and body have as they
// travel.
func (p *publisher) check(topic string, m patterns.Message) (headers []wire.Header, n int, err error) {
	if err := match.CheckTopic(topic); err != nil {
		return nil, 0, err
	}
	headers = wire.ConvertHeaders[wire.Header](m.Headers)
	if err := wire.CheckHeaders(headers); err != nil {
		return nil, 0, p.refuse(fmt.Errorf("%w: %w", patterns.ErrTooLarge, err))
	}
	n = len(m.Body)
	if len(headers) > 0 {
		n += wire.HeadersSize(headers)
	}
	if n > maxPublication {
		return nil, 0, p.refuse(fmt.Errorf("%w: %d bytes with headers, at most %d", patterns.ErrTooLarge, n, maxPublication))
	}
	return headers, wire.HeadersSize(headers) + len(m.Body), nil
}

// refuse counts err if it is a refusal of the client's own, and returns it.
func (p *publisher) refuse(err error) error {
	switch {
	case errors.Is(err, patterns.ErrTooLarge):
		p.drops.Inc(dropTooLarge)
	case errors.Is(err, patterns.ErrWouldBlock):
		p.drops.Inc(dropWouldBlock)
	}
	return err
}

// answered takes in what became of a publication.
func (p *publisher) answered(d wire.Done) {
	p.mu.Lock()
	answer := p.confirms[d.ID]
	delete(p.confirms, d.ID)
	p.mu.Unlock()
	switch {
	case answer != nil:
		p.link.wake("client/confirm", d.ID, func() { answer <- d }) // has room for the only one
	case d.ID == 0 && d.Outcome == wire.OutcomeDraining:
		p.lost(dropRefused, patterns.ErrClosed)
	case d.ID == 0:
		p.lost(dropRefused, errorOf(d, ""))
	}
}

// lost tells the program of a message that it was told to be on its way.
func (p *publisher) lost(why dropReason, err error) {
	p.drops.Inc(why)
	if p.refused != nil {
		p.refused(err)
	}
}

// began makes a session the link's: what the relay did not receive in the one before
// goes first. received is what it says that it did.
func (p *publisher) began(s *session.Session, received wire.Counts) {
	p.mu.Lock()
	var lost []session.Message
	unknown := received == wire.UnknownCounts()
	again := p.again
	if known := slices.IndexFunc(p.doubtful, func(m session.Message) bool { return m.Number > received[wire.LanePub] }); known >= 0 {
		again = append(slices.Clone(p.doubtful[known:]), again...)
	}
	if unknown {
		lost = p.doubtful
	}
	for _, m := range again {
		if m.Kind == 0 { // only a part of it is left
			lost = append(lost, m)
		} else if _, err := s.Send(wire.LanePub, m.Kind, m.Body); err != nil { // this relay takes less
			lost = append(lost, m)
		}
	}
	p.doubtful, p.again = nil, nil
	p.link.session.Store(s)
	p.mu.Unlock()
	for _, m := range lost {
		p.unsure(m)
	}
}

// ended ends a session that is over, and keeps what may not be published for the next
// one. gone says that the relay's process is, which nobody can ask then. Callers that
// wait to hear of a publication are told now.
func (p *publisher) ended(s *session.Session, gone bool) {
	var unsure []session.Message
	p.mu.Lock()
	s.End()
	left := s.Leftover()
	for _, m := range left.Unhandled {
		if m.Kind == wire.KindPublish {
			p.again = append(p.again, m)
		}
	}
	for _, m := range left.Unknown {
		switch {
		case m.Kind != 0 && m.Kind != wire.KindPublish:
		case gone || confirmed(m):
			unsure = append(unsure, m)
		default:
			p.doubtful = append(p.doubtful, m)
		}
	}
	p.mu.Unlock()
	for _, m := range unsure {
		p.unsure(m)
	}
}

// confirmed says whether somebody waits to hear of a publication.
func confirmed(m session.Message) bool {
	f, err := wire.DecodeLeafPublish(m.Body, nil)
	return err == nil && f.ID != 0 && f.ID != wire.SeveralPublications
}

// left says how much the relay has not taken, in messages and bytes.
func (p *publisher) left() (n int, s *session.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s = p.link.session.Load(); s != nil {
		queued, kept := s.Load(wire.LanePub)
		n = queued + kept
	}
	return n + len(p.doubtful) + len(p.again), s
}

// unsure ends a publication of which nobody knows what became of it.
func (p *publisher) unsure(m session.Message) {
	f, err := wire.DecodeLeafPublish(m.Body, nil)
	if err != nil { // only a part of it is left
		f.Count = 1
	}
	if f.ID != 0 && f.ID != wire.SeveralPublications {
		p.answered(wire.Done{ID: f.ID, Outcome: wire.OutcomeInterrupted, Flags: wire.FlagMaybeRan})
		return
	}
	p.unsaid.Add(int64(f.Count))
	for range f.Count {
		p.lost(dropLost, patterns.ErrInterrupted)
	}
}

// flush waits until the relay has taken all that was published, as long as the
// relay is there, or may come back.
func (p *publisher) flush(ctx context.Context) error {
	for ctx.Err() == nil {
		n, s := p.left()
		if n == 0 {
			return nil
		}
		var answer chan struct{}
		if s != nil { // what answers comes with an acknowledgement
			answer = make(chan struct{})
			s.Ask(p.link.LinkTime(p.link.now()), func() {
				p.link.wake("client/flush", 0, func() { close(answer) })
			})
		}
		wait, cancel := overlay.WithTimeout(ctx, p.link.clock, "client/flush", flushTime)
		_, err := await(wait, &p.link.presence, answer)
		cancel()
		if err != nil && wait.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// close ends all that is not published, and returns an error that says how many
// messages may be lost.
func (p *publisher) close() error {
	p.mu.Lock()
	lost := append(p.doubtful, p.again...)
	p.doubtful, p.again = nil, nil
	p.mu.Unlock()
	for _, m := range lost {
		p.unsure(m)
	}
	if n := p.unsaid.Swap(0); n > 0 {
		return fmt.Errorf("%d messages that were taken may not have been published: %w", n, patterns.ErrInterrupted)
	}
	return nil
}
