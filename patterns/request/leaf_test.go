// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// relayLink is a leaf's one link: the session with its relay, which the test
// plays.
type relayLink struct {
	*wireless
	notify func(overlay.PeerEvent)

	mu       sync.Mutex
	session  uint64
	unsent   bool // what is sent is not written
	requests []wire.Request
	replies  []wire.Reply
	cancels  []uint64
}

// leaf returns an engine beside a relay, and the relay.
func leaf(t *testing.T) (*request.Engine, *relayLink) {
	l := &relayLink{wireless: newWireless(), session: 1}
	workers := overlay.NewWorkers(10)
	e, err := request.New(request.Config{
		Links: l, Leaf: &request.Leaf{Relay: l.other}, Clock: overlay.NewRealClock(), Exec: workers,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.NoError(t, workers.Close())
	})
	return e, l
}

func (l *relayLink) Link(peer.ID) request.Link           { return l }
func (l *relayLink) Subscribe(f func(overlay.PeerEvent)) { l.notify = f }
func (l *relayLink) Last(func()) bool                    { return false }

func (l *relayLink) Withdraw(r overlay.Receipt) bool { return l.unsent }
func (l *relayLink) Handle(k wire.Kind, h func(request.Link, []byte)) {
	l.handlers[k] = func(_ request.Link, b []byte) { h(l, b) }
}

func (l *relayLink) HandleLent(k wire.Kind, h func(request.Link, []byte) bool) {
	l.handlers[k] = func(_ request.Link, b []byte) { h(l, b) }
}

func (l *relayLink) Session() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

func (l *relayLink) Send(_ overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == 0 {
		return overlay.Receipt{}, overlay.ErrLinkDown
	}
	frame := bytes.Join(parts, nil)
	switch k {
	case wire.KindRequest:
		r, err := wire.DecodeRequest(frame)
		if err != nil {
			panic(err)
		}
		l.requests = append(l.requests, r)
	case wire.KindReply:
		r, err := wire.DecodeReply(frame)
		if err != nil {
			panic(err)
		}
		l.replies = append(l.replies, r)
	case wire.KindCancel:
		c, _ := wire.DecodeCancel(frame)
		l.cancels = append(l.cancels, c.ID)
	}
	return overlay.Receipt{Session: l.session, Number: 1}, nil
}

func (l *relayLink) SendWait(_ context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	return l.Send(lane, k, parts...)
}

// take waits for the next request of the leaf.
func (l *relayLink) take() wire.Request {
	for {
		synctest.Wait()
		l.mu.Lock()
		if len(l.requests) > 0 {
			r := l.requests[0]
			l.requests = l.requests[1:]
			l.mu.Unlock()
			return r
		}
		l.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

func (l *relayLink) reply(r wire.Reply, body string) {
	l.handlers[wire.KindReply](l, encodeReply(r, []byte(body)))
}

// lose ends the session; another one, unless it is 0, begins a second later.
func (l *relayLink) lose(next uint64) {
	l.mu.Lock()
	old := l.session
	l.session = 0
	l.mu.Unlock()
	l.notify(overlay.PeerEvent{Type: overlay.LinkDown, Peer: l.other, Session: old})
	if next == 0 {
		return
	}
	time.Sleep(time.Second)
	l.mu.Lock()
	l.session = next
	l.mu.Unlock()
	l.notify(overlay.PeerEvent{Type: overlay.LinkUp, Peer: l.other, Session: next})
}

// asks begins a call of a leaf.
func asks(e *request.Engine, a request.Ask) chan outcome {
	out := make(chan outcome, 2)
	e.Start(a, func(a request.Answer, err error) { out <- outcome{a, err, 0} })
	return out
}

func inLeaf(t *testing.T, f func(t *testing.T, e *request.Engine, l *relayLink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, l := leaf(t)
		f(t, e, l)
	})
}

func TestALeafTellsItsRelayWhomToAsk(t *testing.T) {
	// The request has a route and no member, and its outcome says who gave it.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		out := asks(e, request.Ask{Cluster: "geo", Message: body("x"), Options: patterns.RequestOptions{
			Idempotent: true, WaitForMember: true, Policy: patterns.PolicySticky, StickyKey: "k",
		}})
		r := l.take()
		require.Equal(t, &wire.Route{Options: wire.RouteWait, Policy: 4, StickyKey: "k", Cluster: "geo"}, r.Route)
		require.Equal(t, wire.FlagIdempotent, r.Flags)
		require.Zero(t, r.Member)
		require.Equal(t, tail([]byte("x")), r.Tail)
		l.reply(wire.Reply{ID: r.ID, From: &wire.From{Attempts: 2, Member: 7, Peer: "p"}}, "y")
		got := answered(t, out, "y")
		require.Equal(t, 2, got.answer.Attempts)
		require.Equal(t, cluster.MemberID(7), got.answer.Member.ID)
	})
}

func TestOutcomesReachALeafAsTheyAre(t *testing.T) {
	// Whatever error the node beside a relay would have had, its client has.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		for _, err := range []error{
			patterns.ErrNoMembers, patterns.ErrOverloaded, patterns.ErrUnreachable, patterns.ErrInterrupted, patterns.ErrClosed,
			patterns.ErrUnauthorized, patterns.ErrTooLarge, patterns.ErrTooMany,
			&patterns.DeadlineError{Cause: context.DeadlineExceeded}, &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true},
			&patterns.RemoteError{Cluster: "geo", Code: 7, Message: "no"},
		} {
			out := asks(e, request.Ask{Cluster: "geo"})
			f := patterns.FailureOf(err)
			r := wire.Reply{ID: l.take().ID, Outcome: f.Outcome, Code: f.Code}
			if f.MaybeRan {
				r.Flags = wire.FlagMaybeRan
			}
			l.reply(r, f.Text)
			require.Equal(t, err, (<-out).err)
		}
	})
}

func TestALeafAsksAgainInTheNextSessionOnly(t *testing.T) {
	// The session with the relay ends: what was not written, and what may be
	// repeated, is asked in the next one; what may not is interrupted. What a draining
	// relay has not looked at waits for the next one, too.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		once := asks(e, request.Ask{Cluster: "geo", Message: body("once")})
		l.take()
		again := asks(e, request.Ask{Cluster: "geo", Message: body("again"), Options: patterns.RequestOptions{Idempotent: true}})
		l.take()
		l.lose(2)
		require.Equal(t, patterns.ErrInterrupted, (<-once).err)
		r := l.take()
		require.Equal(t, tail([]byte("again")), r.Tail)
		l.reply(wire.Reply{ID: r.ID}, "")
		require.NoError(t, (<-again).err)

		l.unsent = true
		once = asks(e, request.Ask{Cluster: "geo", Message: body("unwritten")})
		l.take()
		l.lose(3)
		l.unsent = false
		r = l.take()
		l.reply(wire.Reply{ID: r.ID, Outcome: wire.OutcomeDraining}, "")
		synctest.Wait()
		require.Empty(t, once)
		l.lose(4)
		l.reply(wire.Reply{ID: l.take().ID}, "at last")
		answered(t, once, "at last")
	})
}

func TestALeafWithoutARelayIsTold(t *testing.T) {
	// Nobody waits for the relay any longer: what was never seen by one is
	// unreachable, with the reason, and what may have run is interrupted.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		seen := asks(e, request.Ask{Cluster: "geo", Options: patterns.RequestOptions{Idempotent: true}})
		l.take()
		l.lose(0)
		unseen := asks(e, request.Ask{Cluster: "geo"})
		synctest.Wait()
		why := errors.New("nobody listens there")
		l.notify(overlay.PeerEvent{Type: overlay.DialFailed, Peer: l.other, Err: why})
		require.Equal(t, patterns.ErrInterrupted, (<-seen).err)
		err := (<-unseen).err
		require.ErrorIs(t, err, patterns.ErrUnreachable)
		require.ErrorIs(t, err, why)
	})
}

func TestALeafsMembersKnowWhoAsks(t *testing.T) {
	// A relay hands a request on under the registration's id, whatever incarnation;
	// the handler sees the caller's peer id.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		caller, err := peer.Decode("12D3KooWPBmfKnqXPJxbFJEkhhmUd1EyjmzEjLWWgvqQ3vDtGyMn")
		if err != nil {
			caller = "somebody"
		}
		from := make(chan string, 1)
		_, err = e.AddMember(5, "geo", patterns.ServiceOf(patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			from <- r.From
			return body("pong"), nil
		})), patterns.Limits{})
		require.NoError(t, err)
		r := wire.Request{ID: 9, Member: 5, Origin: &wire.Origin{Peer: string(caller), Serial: 1}, Tail: tail([]byte("ping"))}
		l.handlers[wire.KindRequest](l, r.AppendTo(nil))
		require.Equal(t, caller.String(), <-from)
		synctest.Wait()
		require.Len(t, l.replies, 1)
		require.Equal(t, uint64(9), l.replies[0].ID)
		require.Equal(t, tail([]byte("pong")), l.replies[0].Tail)
	})
}

func TestALeafsRelayHearsThatAJobIsLate(t *testing.T) {
	// A handler that ends after its deadline has no reply, but the relay hears that
	// it has ended: it counts what is under way.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		_, err := e.AddMember(5, "geo", patterns.ServiceOf(patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
			<-ctx.Done()
			return body("late"), nil
		})), patterns.Limits{})
		require.NoError(t, err)
		by := l.LinkTime(time.Now().Add(time.Second))
		r := wire.Request{ID: 9, Member: 5, Deadline: by, Origin: &wire.Origin{Peer: "somebody", Serial: 1}, Tail: tail(nil)}
		l.handlers[wire.KindRequest](l, r.AppendTo(nil))
		synctest.Wait()
		l.mu.Lock()
		require.Empty(t, l.replies)
		l.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, l.replies, 1)
		require.Equal(t, uint64(9), l.replies[0].ID)
		require.Equal(t, wire.OutcomeDeadline, l.replies[0].Outcome)
	})
}

func TestALeafsRelaySaysWhatBecameOfWhatIsLate(t *testing.T) {
	// At the deadline the caller waits a moment for its relay's word, which says whether a
	// handler may have run; if there is none, one may have. Who gives up waits for nothing.
	const patience = time.Second
	for name, c := range map[string]struct {
		from     *wire.From // of what the relay says, 1 ms late; nil = nothing
		ran      bool
		giveUp   bool
		attempts int
		late     time.Duration
	}{
		"nobody was asked":    {from: &wire.From{}, late: time.Millisecond},
		"somebody was asked":  {from: &wire.From{Attempts: 2}, ran: true, attempts: 2, late: time.Millisecond},
		"the relay is silent": {ran: true, attempts: 1, late: 4 * time.Millisecond},
		"the caller gives up": {ran: true, giveUp: true, attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
				ctx, cancel := context.WithCancel(t.Context())
				if !c.giveUp {
					ctx, cancel = context.WithTimeout(t.Context(), patience)
				} else {
					time.AfterFunc(patience, cancel)
				}
				defer cancel()
				begin := time.Now()
				if c.from != nil {
					time.AfterFunc(patience+time.Millisecond, func() {
						r := wire.Reply{ID: l.take().ID, From: c.from, Outcome: wire.OutcomeDeadline}
						if c.ran {
							r.Flags = wire.FlagMaybeRan
						}
						l.reply(r, "")
					})
				}
				a, err := e.Ask(ctx, request.Ask{Cluster: "geo", Options: patterns.RequestOptions{WaitForMember: true}})
				require.Equal(t, patience+c.late, time.Since(begin))
				var late *patterns.DeadlineError
				require.ErrorAs(t, err, &late)
				require.Equal(t, c.ran, late.MaybeRan)
				require.Equal(t, c.giveUp, errors.Is(err, context.Canceled))
				require.Equal(t, c.attempts, a.Attempts)
			})
		})
	}
}

func TestALeafWithoutASessionIsLateAtTheDeadline(t *testing.T) {
	// What was not sent has nobody who could say anything of it.
	inLeaf(t, func(t *testing.T, e *request.Engine, l *relayLink) {
		l.lose(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		a, err := e.Ask(ctx, request.Ask{Cluster: "geo"})
		require.Equal(t, time.Second, time.Since(begin))
		require.Equal(t, &patterns.DeadlineError{Cause: context.DeadlineExceeded}, err)
		require.Zero(t, a.Attempts)
	})
}
