// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// fakeLink is a link as one of its two nodes sees it. What it sends is
// delivered by its pump, after the latency.
type fakeLink struct {
	n      *fakeNode
	to     peer.ID
	frames chan fakeFrame

	delivering sync.Mutex // a frame or an event is being delivered to n

	// Guarded by n.w.mu.
	session uint64
	suspect bool
	full    bool // no room in any lane
	room    chan struct{}
	refuse  bool // dials fail
	hang    bool // dials do not end
	frozen  bool // what is sent arrives when the link thaws
	held    int
	opened  int
	sent    []wire.Kind
	lanes   []overlay.Lane
	spoil   func(wire.Kind, []byte) []byte // changes what is sent
	atSend  func()                         // called when Send is about to return
	holds   bool                           // what is sent is not written
	number  uint64                         // of the last message
	void    map[uint64]bool                // by number: withdrawn
}

type fakeFrame struct {
	session uint64
	number  uint64
	kind    wire.Kind
	body    []byte
	due     time.Time
}

func (l *fakeLink) Peer() peer.ID { return l.to }

func (l *fakeLink) Session() uint64 {
	l.n.w.mu.Lock()
	defer l.n.w.mu.Unlock()
	return l.session
}

func (l *fakeLink) RTT() time.Duration { return 2 * l.n.w.latency }

func (l *fakeLink) Suspect() bool {
	l.n.w.mu.Lock()
	defer l.n.w.mu.Unlock()
	return l.suspect
}

func (l *fakeLink) LocalTime(remote uint64) time.Time { return time.Unix(0, int64(remote)) }

func (l *fakeLink) Hold() func() {
	l.n.w.mu.Lock()
	l.held++
	l.n.w.mu.Unlock()
	return sync.OnceFunc(func() {
		l.n.w.mu.Lock()
		l.held--
		l.n.w.mu.Unlock()
	})
}

func (l *fakeLink) Open([]string) {
	w := l.n.w
	w.mu.Lock()
	up, refuse, hang := l.session != 0, l.refuse, l.hang
	l.opened++
	peer := w.nodes[l.to]
	w.mu.Unlock()
	if up || hang {
		return
	}
	w.wg.Go(func() {
		time.Sleep(2 * w.latency)
		if refuse || peer == nil {
			l.event(overlay.PeerEvent{Type: overlay.DialFailed, Peer: l.to})
			return
		}
		w.connect(l.n, peer)
	})
}

func (l *fakeLink) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	w := l.n.w
	w.mu.Lock()
	if f := l.atSend; f != nil {
		l.atSend = nil
		defer f() // after mu is released
	}
	defer w.mu.Unlock()
	switch {
	case l.session == 0:
		return overlay.Receipt{}, overlay.ErrLinkDown
	case l.full:
		return overlay.Receipt{}, overlay.ErrLaneFull
	}
	body := bytes.Join(parts, nil)
	if l.spoil != nil {
		if body = l.spoil(k, body); body == nil {
			return overlay.Receipt{Session: l.session}, nil
		}
	}
	l.sent, l.lanes = append(l.sent, k), append(l.lanes, lane)
	l.number++
	l.frames <- fakeFrame{l.session, l.number, k, body, time.Now().Add(w.latency)}
	return overlay.Receipt{Session: l.session, Number: l.number}, nil
}

func (l *fakeLink) SendWait(ctx context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	for {
		s, err := l.Send(lane, k, parts...)
		if err != overlay.ErrLaneFull {
			return s, err
		}
		l.n.w.mu.Lock()
		room := l.room
		l.n.w.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return overlay.Receipt{}, ctx.Err()
		}
	}
}

func (l *fakeLink) SendLater(lane overlay.Lane, k wire.Kind, sent func(overlay.Receipt, error), parts ...[]byte) (func() bool, error) {
	var mu sync.Mutex
	var over bool
	ctx, cancel := context.WithCancel(context.Background())
	l.n.w.wg.Go(func() {
		for {
			mu.Lock()
			if over {
				mu.Unlock()
				return
			}
			s, err := l.Send(lane, k, parts...)
			left := err != overlay.ErrLaneFull
			over = left
			mu.Unlock()
			if left {
				sent(s, err)
				return
			}
			l.n.w.mu.Lock()
			room := l.room
			l.n.w.mu.Unlock()
			select {
			case <-room:
			case <-ctx.Done():
			}
		}
	})
	return func() bool {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		withdrawn := !over
		over = true
		return withdrawn
	}, nil
}

// pump delivers what l sends to the node at the other end.
func (l *fakeLink) pump() {
	for f := range l.frames {
		time.Sleep(time.Until(f.due))
		w := l.n.w
		for l.isFrozen() {
			time.Sleep(time.Millisecond)
		}
		w.mu.Lock()
		peer := w.nodes[l.to]
		w.mu.Unlock()
		if peer == nil {
			continue
		}
		back := peer.link(l.n.id)
		back.delivering.Lock()
		if l.Session() == f.session && !l.isVoid(f.number) {
			peer.handlers[f.kind](back, f.body)
		}
		back.delivering.Unlock()
	}
}

// Withdraw takes back what is on hold.
func (l *fakeLink) Last(func()) bool { return false }

func (l *fakeLink) Withdraw(r overlay.Receipt) bool {
	l.n.w.mu.Lock()
	defer l.n.w.mu.Unlock()
	if !l.holds || r.Number == 0 {
		return false
	}
	if l.void == nil {
		l.void = make(map[uint64]bool)
	}
	l.void[r.Number] = true
	return true
}

func (l *fakeLink) isFrozen() bool {
	l.n.w.mu.Lock()
	defer l.n.w.mu.Unlock()
	return (l.frozen || l.holds) && l.session != 0
}

func (l *fakeLink) isVoid(number uint64) bool {
	l.n.w.mu.Lock()
	defer l.n.w.mu.Unlock()
	return l.void[number]
}

func (l *fakeLink) event(e overlay.PeerEvent) {
	l.delivering.Lock()
	defer l.delivering.Unlock()
	l.n.notify(e)
}
