// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// taped is a link that writes down what is sent, and does what the test says.
type taped struct {
	session uint64
	next    uint64 // the session in which the next frame goes; 0 = session
	room    int    // frames that the lane still takes; -1 = any number
	suspect bool
	dials   int
	holds   atomic.Int32
	tape    []string
}

func (t *taped) Peer() peer.ID                  { return "p" }
func (t *taped) Session() uint64                { return t.session }
func (t *taped) Suspect() bool                  { return t.suspect }
func (t *taped) Open([]string)                  { t.dials++ }
func (t *taped) Hold() func()                   { t.holds.Add(1); return func() { t.holds.Add(-1) } }
func (t *taped) HasRoom(overlay.Lane, int) bool { return t.room != 0 }

func (t *taped) WaitRoom(ctx context.Context, _ overlay.Lane, _ int) (func(), error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (t *taped) Send(_ overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	switch {
	case t.session == 0:
		return overlay.Receipt{}, overlay.ErrLinkDown
	case t.room == 0:
		return overlay.Receipt{}, overlay.ErrLaneFull
	}
	t.room--
	if t.next != 0 {
		t.session, t.next = t.next, 0
	}
	body := ""
	for _, p := range parts {
		body += string(p)
	}
	if k == wire.KindPublishResume {
		m, _ := wire.DecodePublishResume([]byte(body))
		body = fmt.Sprintf("from %d for %d", m.First, m.Incarnation)
	}
	t.tape = append(t.tape, body)
	return overlay.Receipt{Session: t.session}, nil
}

// said returns what was sent since the last call.
func (t *taped) said() []string {
	out := t.tape
	t.tape = nil
	return out
}

// newTaped returns the pipe to a peer whose link has session 1.
func newTaped(t testing.TB) (*lone, *taped, *pipe) {
	l := newLone(t)
	link := &taped{session: 1, room: -1}
	l.link = link
	return l, link, l.pipe("p")
}

func (q *pipe) publish(incarnation uint64, body string) verdict {
	v, _ := q.send(destination{incarnation: incarnation}, wire.KindPublish, []byte(body[:1]), []byte(body[1:]))
	return v
}

func (q *pipe) acks(number uint64) { q.acknowledged(wire.PublishAck{Pipe: q.id, Number: number}) }

func TestTheNextSessionGoesOnWhereThePeerIs(t *testing.T) {
	// This test ends sessions at all sorts of moments: in the next one the peer
	// is told which frame comes first, and gets all it has not acknowledged.
	synctest.Test(t, func(t *testing.T) {
		_, link, q := newTaped(t)
		for _, body := range []string{"a", "b", "c"} {
			require.Equal(t, sent, q.publish(7, body))
		}
		require.Equal(t, []string{"from 1 for 7", "a", "b", "c"}, link.said())
		q.acks(1)

		link.session = 0
		require.Equal(t, sent, q.publish(7, "d"), "before the event is here")
		require.True(t, q.down(1))
		require.Equal(t, 1, link.dials)
		require.Equal(t, sent, q.publish(7, "e"))
		require.Empty(t, link.said())
		link.session = 2
		q.up(2)
		require.Equal(t, []string{"from 2 for 7", "b", "c", "d", "e"}, link.said())
		require.False(t, q.doubtful())

		link.session = 3
		require.Equal(t, sent, q.publish(7, "f"), "before the events are here")
		require.True(t, q.down(2))
		q.up(3)
		require.Equal(t, []string{"from 2 for 7", "b", "c", "d", "e", "f"}, link.said())
		q.acks(6)
		q.up(3)
		require.Empty(t, link.said())

		link.next = 4 // it begins between two looks
		require.Equal(t, sent, q.publish(7, "g"))
		require.Equal(t, []string{"g"}, link.said(), "the peer takes no notice of it")
		require.True(t, q.down(3))
		q.up(4)
		require.Equal(t, []string{"from 7 for 7", "g"}, link.said())

		require.Equal(t, sent, q.publish(8, "h"), "it was started anew")
		require.Equal(t, sent, q.publish(0, "i"), "whoever it is")
		require.Equal(t, []string{"from 8 for 8", "h", "i"}, link.said())
		require.True(t, q.down(4))
		q.up(4) // as if it were another one
		require.Equal(t, []string{"from 7 for 7", "g", "from 8 for 8", "h", "i"}, link.said())
		require.Zero(t, q.lossCount())
	})
}

func TestWhatIsSentAgainWaitsForRoom(t *testing.T) {
	// This test has a lane that takes a few frames only: the others follow, in
	// order, when there is room, and new ones behind them. A large message is in
	// the lane as a whole, or will be, or not at all.
	synctest.Test(t, func(t *testing.T) {
		l, link, q := newTaped(t)
		for _, body := range []string{"a", "b", "c"} {
			require.Equal(t, sent, q.publish(0, body))
		}
		link.room = 0
		require.Equal(t, full, q.publish(0, "x"))
		link.said()
		link.session, link.room = 2, 2
		q.down(1)
		q.up(2)
		require.Equal(t, []string{"from 1 for 0", "a"}, link.said())
		require.Equal(t, sent, q.publish(0, "d"))
		require.Empty(t, link.said())
		link.room = -1
		q.acks(1)
		require.Equal(t, []string{"b", "c", "d"}, link.said())

		large := make([]byte, 2*wire.MaxPart+1)
		link.room = 0
		require.Equal(t, full, q.publish(0, string(large)))
		link.room = 2
		require.Equal(t, sent, q.publish(0, string(large)))
		require.Len(t, link.said(), 2)
		require.Equal(t, sent, q.publish(0, "e"))
		link.room = -1
		q.mu.Lock()
		q.flush()
		q.mu.Unlock()
		require.Equal(t, []string{"\x02\x00", "e"}, link.said())
		require.EqualValues(t, 9, q.kept.next)
		require.Zero(t, l.dropped(dropUnconfirmed))
	})
}

func TestWhatIsTooOldToBeSentAgainIsCounted(t *testing.T) {
	// This test sends more than is kept, then the link breaks: the peer is told
	// which frame is the first that comes again, and the loss is noted.
	synctest.Test(t, func(t *testing.T) {
		l, link, q := newTaped(t)
		const count, size = 100, 60_000
		for range count {
			require.Equal(t, sent, q.publish(0, string(make([]byte, size))))
		}
		q.acks(5)
		link.said()
		link.session = 0
		q.down(1)
		_, before := q.send(destination{}, wire.KindPublishMark, nil)
		require.Zero(t, before)
		link.session = 2
		q.up(2)
		fit := maxKept / (size + keptHead)
		again := link.said()
		require.Equal(t, fmt.Sprintf("from %d for 0", count-fit+1), again[0])
		require.Len(t, again, 1+fit+1)
		require.EqualValues(t, count-fit-5, l.dropped(dropUnconfirmed))
		require.EqualValues(t, 1, q.lossCount())
	})
}

func TestANodeThatCannotBeReachedHoldsUpNobody(t *testing.T) {
	// This test loses a link whose node does not answer any more: what is sent
	// is kept until there is no room, then lost, never blocked; the node is
	// called once a second, and forgotten after 15.
	synctest.Test(t, func(t *testing.T) {
		l, link, q := newTaped(t)
		require.Equal(t, sent, q.publish(0, "a"))
		link.session = 0
		q.down(1)
		body := make([]byte, 60_000)
		for q.publish(0, string(body)) == sent {
		}
		require.Equal(t, full, q.publish(0, string(body)), "it may answer yet")
		waiting := make(chan error, 1)
		go func() { _, err := q.waitRoom(t.Context(), 100); waiting <- err }()
		synctest.Wait()
		require.Empty(t, waiting)
		for dial := 1; dial <= 15; dial++ {
			require.Equal(t, dial, link.dials)
			l.handlePeerEvent(overlay.PeerEvent{Type: overlay.DialFailed, Peer: "p"})
			require.Equal(t, lost, q.publish(0, string(body)))
			require.Zero(t, l.dropped(dropUnsent))
			time.Sleep(redialTime)
			synctest.Wait()
		}
		require.NoError(t, <-waiting)
		waits := uint64(maxKept / (len(body) + keptHead))
		require.Equal(t, []uint64{waits, 1}, []uint64{l.dropped(dropUnsent), l.dropped(dropUnconfirmed)})
		require.Empty(t, q.kept.ring, "no memory is held")
		require.Equal(t, 15, link.dials)
		link.session = 2
		q.up(2)
		require.Equal(t, sent, q.publish(0, "b"))
		require.Equal(t, []string{"from 1 for 0", "a", fmt.Sprintf("from %d for 0", waits+2), "b"}, link.said())
		require.NoError(t, l.Close())
	})
}

func TestWhoeverSendsWhatWaitsWakesPublishers(t *testing.T) {
	// This test has a publisher wait behind what has to be sent again, and has
	// that sent in each of the ways there are: the timer, an acknowledgement, and
	// another publisher. It goes on at once.
	for name, flush := range map[string]func(q *pipe){
		"timer":             func(*pipe) { time.Sleep(flushTime) },
		"acknowledgement":   func(q *pipe) { q.acks(1) },
		"another publisher": func(q *pipe) { q.publish(0, "z") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, link, q := newTaped(t)
				link.session = 0
				body := make([]byte, 60_000)
				for q.publish(0, string(body)) == sent {
				}
				link.session, link.room = 2, 2
				q.up(2)
				waiting := make(chan error, 1)
				go func() { _, err := q.waitRoom(t.Context(), 100); waiting <- err }()
				synctest.Wait()
				require.Empty(t, waiting)
				q.mu.Lock() // the timer may be at it
				link.room = -1
				q.mu.Unlock()
				flush(q)
				synctest.Wait()
				require.Len(t, waiting, 1)
				require.NoError(t, l.Close())
			})
		})
	}
}

func TestASuspectNodeHoldsUpNobody(t *testing.T) {
	// This test has a publisher wait for room in the lane to a node that becomes
	// suspect: it waits no longer, the node goes without, and is told when it is
	// heard again.
	synctest.Test(t, func(t *testing.T) {
		l, link, q := newTaped(t)
		link.room = 0
		require.Equal(t, full, q.publish(0, "a"))
		require.False(t, q.hasRoom(1))
		waiting := make(chan error, 1)
		go func() { _, err := q.waitRoom(t.Context(), 1); waiting <- err }()
		synctest.Wait()
		require.Empty(t, waiting)
		link.suspect = true
		l.handlePeerEvent(overlay.PeerEvent{Type: overlay.LinkSuspect, Peer: "p"})
		require.NoError(t, <-waiting)
		require.Zero(t, q.lossCount())
		require.True(t, q.hasRoom(1))
		require.Equal(t, lost, q.publish(0, "a"))
		require.EqualValues(t, 1, q.lossCount())
		require.NoError(t, l.Close())
	})
}

func TestAPipeThatWasForgottenGoesOnAsAnother(t *testing.T) {
	// This test has a receiver keep its pipe until that is forgotten: what is
	// sent then goes into the one that all find, which is told to the peer, and
	// the link is held and let go of like before.
	synctest.Test(t, func(t *testing.T) {
		l, link, q := newTaped(t)
		r := &receiver{peer: "p", way: q}
		require.Equal(t, sent, q.publish(0, "a"))
		q.acks(1)
		require.EqualValues(t, 1, link.holds.Load())
		time.Sleep(ghostTime + 2*sweepTime)
		synctest.Wait()
		require.Zero(t, link.holds.Load())
		require.Empty(t, l.pipes)
		link.said()
		require.Equal(t, sent, q.publish(0, "b"), "by who has just looked")
		require.Equal(t, sent, r.pipe(l.Engine).publish(0, "c"))
		require.Equal(t, []string{"from 1 for 0", "b", "c"}, link.said())
		require.Same(t, l.pipe("p"), r.way)
		require.NotSame(t, q, r.way)
		require.EqualValues(t, 1, link.holds.Load())
		require.NoError(t, l.Close())
		require.Zero(t, link.holds.Load())
	})
}

// swift is a link that takes everything.
type swift struct{ deadLink }

func (swift) Session() uint64 { return 1 }

func (swift) Send(overlay.Lane, wire.Kind, ...[]byte) (overlay.Receipt, error) {
	return overlay.Receipt{Session: 1}, nil
}

func TestKeepingWhatIsSentCostsNoAllocation(t *testing.T) {
	// This test counts what sending one frame costs, and what taking it in does,
	// with their share of the acknowledgements: nothing but what the caller of
	// Link.Send pays for its arguments.
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	l := newLone(t)
	l.link = swift{}
	q := l.pipe("p")
	head, body := make([]byte, 50), make([]byte, 1000)
	to := destination{incarnation: 1}
	require.LessOrEqual(t, testing.AllocsPerRun(10_000, func() {
		q.send(to, wire.KindPublish, head, body)
		if q.kept.next%ackFrames == 0 {
			q.acks(q.kept.next - 1)
		}
	}), 1.0)
	require.LessOrEqual(t, len(q.kept.ring), 2*ackFrames*(len(body)+len(head)))

	handle := l.numbered(func(Link, []byte) {})
	var from Link = swift{deadLink{"p"}}
	l.handleResume(from, wire.PublishResume{Pipe: 1, First: 1}.AppendTo(nil))
	require.Zero(t, testing.AllocsPerRun(10_000, func() { handle(from, body) }))
}

func BenchmarkSend(b *testing.B) {
	l := newLone(b)
	l.link = swift{}
	q := l.pipe("p")
	head, body := make([]byte, 50), make([]byte, 1000)
	b.SetBytes(int64(len(head) + len(body)))
	for b.Loop() {
		q.send(destination{}, wire.KindPublish, head, body)
		if q.kept.next%ackFrames == 0 {
			q.acks(q.kept.next - 1)
		}
	}
}
