// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// passed is an opener and a member with a key of their own, and between them a gateway's
// two nodes: four engines with cables between them.
type passed struct {
	t                       *testing.T
	opener, near, far, at   *party
	passages                *Passages
	up, down                *cable // from the opener, to the opener
	out, in                 *cable // from the gateway to the member, to the gateway
	handler                 handler
	refuse                  error         // the member's node answers this
	late                    time.Duration // the answer comes so much later
	mu                      sync.Mutex
	seen                    bytes.Buffer // guarded by mu: all that has come to the gateway
	last                    *Passage
	tunnels                 map[uint64]bool // guarded by mu: ids on the member's link
	session, openersSession uint64
}

func newPassed(t *testing.T, buffer int) *passed {
	s := &passed{t: t, handler: echoes, tunnels: map[uint64]bool{}, session: 1, openersSession: 1}
	s.up, s.down = newCable(t, "gateway"), newCable(t, "opener")
	s.out, s.in = newCable(t, "member's node"), newCable(t, "gateway")
	s.opener, s.at = newParty(t, "opener", true, s.up), newParty(t, "member's node", true, s.in)
	s.near, s.far = newParty(t, "gateway", false, s.down), newParty(t, "gateway", false, s.out)
	s.passages = NewPassages(s.near.engine, s.far.engine, buffer)
	hears := func(p *party, c *cable, tap bool) func(wire.Kind, []byte) {
		return func(k wire.Kind, body []byte) {
			if tap {
				s.mu.Lock()
				s.seen.Write(body)
				s.mu.Unlock()
			}
			p.hears[k](c, body)
		}
	}
	s.up.hear, s.down.hear = hears(s.near, s.down, true), hears(s.opener, s.up, false)
	s.out.hear, s.in.hear = hears(s.at, s.in, false), hears(s.far, s.out, true)
	s.opener.ask = s.open
	return s
}

// open is what the request pattern does for an opening: the gateway has what is not in the
// message, which is sealed.
func (s *passed) open(a request.Ask) (request.Answer, error) {
	require.NotZero(s.t, a.Tunnel)
	far := &cluster.Member{ID: 77, Peer: "member's node", Incarnation: 3}
	x, id, err := s.passages.Begin(Crossing{Server: s.near, Link: s.down, Session: s.openersSession, Tunnel: a.Tunnel, To: far})
	if err != nil {
		return request.Answer{}, err
	}
	s.mu.Lock()
	s.last, s.tunnels[id] = x, true
	s.mu.Unlock()
	refused := s.refuse
	var body []byte
	if refused == nil {
		body, refused = s.at.engine.accept(s.handler, patterns.TunnelInfo{Open: a.Message}, time.Time{}, Arrival{
			Server: s.at, Link: s.in, Session: 1, From: "opener", SenderIncarnation: 3, Sealed: true, Tunnel: id,
		})
	}
	if refused != nil {
		x.Abandon()
		return request.Answer{}, refused
	}
	time.Sleep(s.late)
	if err := x.Opened(s.session); err != nil {
		return request.Answer{}, err
	}
	m := &cluster.Member{ID: 77, Peer: "member's node", Incarnation: 3, MaxMessage: 4 << 20, Via: &cluster.Way{Peer: "gateway"}}
	return request.Answer{Message: patterns.Message{Body: body}, Member: m, Session: 1}, nil
}

func (s *passed) begin() (*Tunnel, error) {
	t, err := s.opener.engine.Open(context.Background(), "pipe", patterns.Message{Body: []byte("hello")}, patterns.RequestOptions{})
	if err != nil {
		return nil, err
	}
	return t.(*Tunnel), nil
}

func (s *passed) must() *Tunnel {
	t, err := s.begin()
	require.NoError(s.t, err)
	return t
}

func (s *passed) requireNothingLeft() {
	s.t.Helper()
	synctest.Wait()
	requireIdle(s.t, s.opener, s.near, s.far, s.at)
	require.Zero(s.t, s.passages.Open())
	require.Zero(s.t, s.passages.budget.Used())
	require.Zero(s.t, s.passages.inLine.Load())
}

// inPassage runs f in virtual time.
func inPassage(t *testing.T, f func(t *testing.T, s *passed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newPassed(t, 4<<20)) })
}

func TestAGatewayPassesTunnelsOnThatItCantRead(t *testing.T) {
	// This test sends messages of all sizes there and back, several tunnels at once, and
	// ends them. What came to the gateway has no word of it; a tunnel that is not sealed
	// shows that it would be seen. Nothing is left at any of the four nodes.
	inPassage(t, func(t *testing.T, s *passed) {
		severalRoundTrips(t, s.must)
		tunnel := s.must()
		require.Equal(t, peer.ID("member's node").String(), tunnel.Info().Peer)
		require.NoError(t, tunnel.Send(t.Context(), []byte("a word that nobody else may read")))
		got, err := tunnel.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a word that nobody else may read", string(got))
		require.NoError(t, tunnel.Reset(7, "a reason that nobody else may read"))
		synctest.Wait()
		seen := s.seen.String()
		require.NotContains(t, seen, "nobody else may read")
		require.NotContains(t, seen, "member's node")
		require.Greater(t, len(seen), 6<<20)
		require.GreaterOrEqual(t, s.passages.Carried(), uint64(6<<20))
		s.requireNothingLeft()
		for _, p := range []*party{s.opener, s.near, s.far, s.at} {
			require.Empty(t, p.engine.Drops(), p.id)
		}

		plain := newSpliced(t, true, false, nil)
		hear, control := plain.in.hear, []byte(nil)
		plain.in.hear = func(k wire.Kind, body []byte) {
			control = append(control, body...)
			hear(k, body)
		}
		open := plain.open()
		require.NoError(t, open.Send(t.Context(), []byte("a word that nobody else may read")))
		_, err = open.Receive(t.Context())
		require.NoError(t, err)
		require.Contains(t, string(control), "nobody else may read", "the same is seen where nothing is sealed")
		require.NoError(t, open.Close())
		synctest.Wait()
	})
}

func TestBothEndsOfAPassageLearnHowItEnds(t *testing.T) {
	// This test ends tunnels from either end, with either link of the gateway, and with the
	// gateway: what an end says comes sealed, and what the gateway says, or a session's end,
	// is an interruption.
	interrupted, closed := patterns.ErrInterrupted.Error(), patterns.ErrClosed.Error()
	for name, c := range map[string]struct {
		do             func(s *passed, opener, member *Tunnel)
		opener, member string
	}{
		"the opener resets": {func(_ *passed, o, _ *Tunnel) { _ = o.Reset(7, "enough") }, closed, "7 enough"},
		"the member resets": {func(_ *passed, _, m *Tunnel) { _ = m.Reset(7, "enough") }, "7 enough", closed},
		"the opener closes": {func(_ *passed, o, _ *Tunnel) { _ = o.Close() }, "<nil>", "<nil>"},
		"the member closes": {func(_ *passed, _, m *Tunnel) { _ = m.Close() }, "<nil>", "<nil>"},
		"one after the other": {func(_ *passed, o, m *Tunnel) {
			_ = m.CloseSend()
			synctest.Wait()
			_ = o.Close()
		}, "<nil>", "<nil>"},
		"it is overloaded": {
			func(_ *passed, _, m *Tunnel) { m.end(wire.CauseOverloaded, patterns.ErrClosed) }, patterns.ErrOverloaded.Error(), closed,
		},
		"the opener is lost": {func(s *passed, _, _ *Tunnel) {
			s.near.lose()
			s.opener.lose()
		}, interrupted, interrupted},
		"the member is lost": {func(s *passed, _, _ *Tunnel) {
			s.far.lose()
			s.at.lose()
		}, interrupted, interrupted},
		"the crossing ends":         {func(s *passed, _, _ *Tunnel) { s.passages.Close() }, interrupted, interrupted},
		"the near node is drained":  {func(s *passed, _, _ *Tunnel) { cutShort(s.t, s.near.engine.Drain) }, interrupted, interrupted},
		"the far node is drained":   {func(s *passed, _, _ *Tunnel) { cutShort(s.t, s.far.engine.Drain) }, interrupted, interrupted},
		"the gateway's node stops":  {func(s *passed, _, _ *Tunnel) { s.near.engine.Stop() }, interrupted, interrupted},
		"the gateway's other stops": {func(s *passed, _, _ *Tunnel) { s.far.engine.Stop() }, interrupted, interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			inPassage(t, func(t *testing.T, s *passed) {
				opener, member := pair(&s.handler, s.must)
				c.do(s, opener, member)
				requireEnded(t, opener, c.opener, member, c.member)
				s.requireNothingLeft()
			})
		})
	}
}

func TestAnOpeningThatIsPassedOnMayFail(t *testing.T) {
	// This test has the member refuse; the opener be lost, and the member, before the answer
	// has come; the crossing end; and an id be used twice: the opener hears it, and nothing is left.
	for name, c := range map[string]struct {
		before func(s *passed)
		want   error
	}{
		"refused":            {func(s *passed) { s.refuse = patterns.ErrOverloaded }, patterns.ErrOverloaded},
		"the opener is lost": {func(s *passed) { s.openersSession = 2 }, patterns.ErrClosed},
		"the member is lost": {func(s *passed) { s.session = 2 }, patterns.ErrInterrupted},
		"the crossing ends":  {func(s *passed) { s.passages.Close() }, patterns.ErrOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			inPassage(t, func(t *testing.T, s *passed) {
				c.before(s)
				_, err := s.begin()
				require.ErrorIs(t, err, c.want)
				s.at.lose() // if it has accepted
				s.requireNothingLeft()
			})
		})
	}
	inPassage(t, func(t *testing.T, s *passed) {
		tunnel := s.must()
		_, _, err := s.passages.Begin(Crossing{
			Server: s.near, Link: s.down, Session: 1, Tunnel: tunnel.id, To: &cluster.Member{Peer: "member's node"},
		})
		require.ErrorIs(t, err, patterns.ErrOverloaded)
		require.NotZero(t, s.near.engine.Drops()["duplicate"])
		require.NoError(t, roundTrips(tunnel, 1), "the first one goes on")
		s.requireNothingLeft()
	})
}

func TestAResetMayOvertakeTheAnswerToAnOpening(t *testing.T) {
	// This test has the handler fail before the gateway has the answer: the tunnel is opened,
	// and the opener hears what the handler said.
	inPassage(t, func(t *testing.T, s *passed) {
		s.late = time.Second
		s.handler = func(context.Context, patterns.Tunnel) error {
			return &patterns.RemoteError{Code: 7, Message: "not today"}
		}
		tunnel := s.must()
		_, err := tunnel.Receive(t.Context())
		var reset *patterns.TunnelError
		require.ErrorAs(t, err, &reset)
		require.Equal(t, patterns.TunnelError{Code: 7, Message: "not today"}, *reset)
		s.requireNothingLeft()
	})
}

func TestASlowLineSlowsTheWriterOfAPassage(t *testing.T) {
	// This test has the reader stall, and then the line to it: the writer can send what the
	// windows allow, and what stands in line at the gateway is bounded, though the gateway
	// can't change the credit that the reader gives. All comes when the line is back.
	inPassage(t, func(t *testing.T, s *passed) {
		reader := newStalled()
		s.handler = reader.serve
		tunnel := s.must()
		total := growWindows(t, tunnel)
		s.out.stick(0)
		sent := reader.goesOnWhile(t, tunnel)
		require.Greater(t, s.out.most, 64<<10)
		require.Less(t, s.out.most, 4<<20)
		s.out.stick(256 << 10)
		<-sent
		require.Equal(t, total+stalledBytes, <-reader.sum)
		synctest.Wait()
		require.NoError(t, tunnel.Close())
		s.requireNothingLeft()
	})
}

func TestWhoSendsWithoutCreditLosesAPassage(t *testing.T) {
	// This test has either end send more than it was told of, behind its end, and what is not
	// sealed: both are told, it is counted, and another tunnel goes on.
	sealed := func(id uint64, flags uint8, n int) []byte {
		return wire.TunnelData{ID: id, Flags: flags | wire.FlagLast, Payload: make([]byte, n+security.StreamOverhead)}.AppendTo(nil)
	}
	for name, frames := range map[string]func(id uint64, flags uint8) []sentFrame{
		"no credit": func(id uint64, flags uint8) []sentFrame {
			return []sentFrame{{kind: wire.KindTunnelData, body: sealed(id, flags, credit.FirstWindow-100)}, {kind: wire.KindTunnelData, body: sealed(id, flags, 101)}}
		},
		"behind the end": func(id uint64, flags uint8) []sentFrame {
			end := wire.TunnelEnd{ID: id, Flags: flags, Payload: make([]byte, security.StreamOverhead)}
			return []sentFrame{{kind: wire.KindTunnelEnd, body: end.AppendTo(nil)}, {kind: wire.KindTunnelData, body: sealed(id, flags, 1)}}
		},
		"a chunk in clear": func(id uint64, flags uint8) []sentFrame {
			return []sentFrame{{kind: wire.KindTunnelData, body: wire.TunnelData{ID: id, Flags: flags | wire.FlagLast, Payload: []byte("x")}.AppendTo(nil)}}
		},
		"credit in clear": func(id uint64, flags uint8) []sentFrame {
			return []sentFrame{{kind: wire.KindTunnelCredit, body: wire.TunnelCredit{ID: id, Flags: flags, Total: 1 << 30}.AppendTo(nil)}}
		},
	} {
		for _, byOpener := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " by opener ", byOpener), func(t *testing.T) {
				inPassage(t, func(t *testing.T, s *passed) {
					other := s.must()
					opener, member := pair(&s.handler, s.must)
					hurt, link, onward, from, flags := s.near, s.down, s.out, opener.id, wire.FlagOpener
					if !byOpener {
						hurt, link, onward, from, flags = s.far, s.out, s.down, s.last.halves[farHalf].id, 0
					}
					onward.stick(0) // or the other end may answer the first frame before the second comes
					for _, f := range frames(from, flags) {
						hurt.hears[f.kind](link, f.body)
					}
					onward.stick(256 << 10)
					synctest.Wait()
					require.NotZero(t, hurt.engine.Drops()["violation"])
					for _, end := range []*Tunnel{opener, member} {
						<-end.Done()
						require.Error(t, end.Err())
					}
					require.NoError(t, roundTrips(other, 1))
					s.requireNothingLeft()
				})
			})
		}
	}
}

func TestWhatStandsAtAGatewayIsBounded(t *testing.T) {
	// This test has more tunnels send, to a line that stands still, than the gateway keeps
	// the first credit of: those beyond it are interrupted, and counted. What the others
	// sent comes when the line is back.
	synctest.Test(t, func(t *testing.T) {
		const bound = 256 << 10
		s := newPassed(t, bound)
		var all []*Tunnel
		for range 8 {
			all = append(all, s.must())
		}
		synctest.Wait()
		s.out.stick(0)
		for _, tunnel := range all {
			require.NoError(t, tunnel.Send(t.Context(), make([]byte, 60_000)))
		}
		synctest.Wait()
		require.LessOrEqual(t, s.passages.inLine.Load(), int64(bound))
		require.EqualValues(t, 4, s.near.engine.Drops()["buffer_bytes"])
		s.out.stick(256 << 10)
		for i, tunnel := range all {
			got, err := tunnel.Receive(t.Context())
			if i < 4 {
				require.NoError(t, err)
				require.Len(t, got, 60_000)
				require.NoError(t, tunnel.Close())
				continue
			}
			require.ErrorIs(t, err, patterns.ErrInterrupted)
		}
		s.requireNothingLeft()
	})
}

func TestAPassageWhoseOpenerSaysNothingIsOver(t *testing.T) {
	// This test has a member accept a tunnel for an opener that has given up, and keep it: it
	// is over a moment after the opening's deadline, so that such a member can't use up the
	// places of others. One whose opener has said a word goes on.
	for name, deadline := range map[string]time.Duration{"with a deadline": 5 * time.Second, "without": 0} {
		t.Run(name, func(t *testing.T) {
			inPassage(t, func(t *testing.T, s *passed) {
				spoken := s.must()
				c := Crossing{Server: s.near, Link: s.down, Session: 1, Tunnel: 99, To: &cluster.Member{Peer: "member's node"}}
				wait := openTime
				if deadline > 0 {
					c.Deadline, wait = time.Now().Add(deadline), deadline
				}
				x, _, err := s.passages.Begin(c)
				require.NoError(t, err)
				require.NoError(t, x.Opened(1))
				time.Sleep(wait + confirmGrace)
				require.Equal(t, 2, s.passages.Open(), "an honest member ends it itself")
				time.Sleep(confirmGrace + time.Millisecond)
				require.Equal(t, 1, s.passages.Open())
				require.EqualValues(t, 1, s.near.engine.Drops()["silent_opener"])
				require.NoError(t, roundTrips(spoken, 1))
				s.requireNothingLeft()
			})
		})
	}
}

func TestAPassageThatEndsAsItBeginsLeavesNothing(t *testing.T) {
	// This test has the opener's session end again and again while tunnels are being opened
	// on it, on another goroutine: whatever comes first, nothing of them is left.
	near, far := newRig(t, false), newRig(t, false)
	near.link.quiet, far.link.quiet = true, true
	l := NewPassages(near.engine, far.engine, 1<<20)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				near.engine.handlePeerEvent(overlay.PeerEvent{Type: overlay.LinkDown, Peer: farPeer, Session: 5})
			}
		}
	}()
	for i := range 20_000 {
		x, _, err := l.Begin(Crossing{Server: &party{}, Link: near.link, Session: 5, Tunnel: uint64(i + 1), To: &cluster.Member{ID: 1, Peer: farPeer}})
		if err == nil {
			x.Abandon()
		}
	}
	close(stop)
	<-ended
	for _, e := range []*Engine{near.engine, far.engine} {
		require.Zero(t, e.Status())
		require.Empty(t, e.table.peers)
		require.Empty(t, e.table.places)
	}
	require.Zero(t, l.budget.Used())
	require.Zero(t, l.Open())
}

func TestAnOpeningOfASessionThatHasEndedIsNotPassedOn(t *testing.T) {
	// This test has an opening handled when its session has ended, and no other has begun:
	// nobody would tell of its end any more.
	near, far := newRig(t, false), newRig(t, false)
	near.link.session = 0
	l := NewPassages(near.engine, far.engine, 1<<20)
	_, _, err := l.Begin(Crossing{Server: &party{}, Link: near.link, Session: 0, Tunnel: 9, To: &cluster.Member{ID: 1, Peer: farPeer}})
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.Zero(t, l.Open())
	require.Zero(t, near.engine.Status())
	require.Zero(t, far.engine.Status())
}

func TestSealedCreditThatIsOvertakenSaysNothingMore(t *testing.T) {
	// This test has totals come out of order while they are held back, and more of them than
	// are kept: the sender is told of the largest.
	p := passing{Passing: credit.NewPassing(credit.FirstWindow)}
	for _, total := range []uint64{20_000, 40_000, 30_000} {
		p.hold(sealedCredit{total: total})
	}
	c, ok := p.tell()
	require.True(t, ok)
	require.EqualValues(t, 40_000, c.total)
	p.telling = false
	for i := range uint64(2 * maxSealedCredits) {
		p.hold(sealedCredit{total: 40_001 + i})
	}
	require.Len(t, p.held, maxSealedCredits)
	c, ok = p.tell()
	require.True(t, ok)
	require.EqualValues(t, 40_000+2*maxSealedCredits, c.total)
	require.Empty(t, p.held)
}

func TestAStrangerAtTheGatewayEndsNoPassage(t *testing.T) {
	// This test has a stranger at the gateway use the id of a tunnel: nobody heeds it.
	inPassage(t, func(t *testing.T, s *passed) {
		tunnel := s.must()
		reset := wire.TunnelReset{ID: tunnel.id, Flags: wire.FlagOpener, Cause: wire.CauseInterrupted}
		s.near.hears[wire.KindTunnelReset](newCable(t, peer.ID("stranger")), reset.AppendTo(nil))
		require.NoError(t, roundTrips(tunnel, 1))
		s.requireNothingLeft()
	})
}

func TestPassingSealedChunksOnCostsNoAllocation(t *testing.T) {
	// This test counts what a chunk costs at a gateway, in both directions, with the credit
	// for it.
	near, far := newRig(t, false), newRig(t, false)
	near.link.quiet, far.link.quiet = true, true
	l := NewPassages(near.engine, far.engine, 1<<20)
	x, id, err := l.Begin(Crossing{Server: &party{}, Link: near.link, Session: 5, Tunnel: 9, To: &cluster.Member{ID: 1, Peer: farPeer}})
	require.NoError(t, err)
	require.NoError(t, x.Opened(5))
	up := wire.TunnelData{ID: 9, Flags: wire.FlagOpener | wire.FlagLast, Payload: make([]byte, 400)}.AppendTo(nil)
	down := wire.TunnelData{ID: id, Flags: wire.FlagLast, Payload: make([]byte, 400)}.AppendTo(nil)
	total, seal := uint64(1<<20), make([]byte, security.StreamOverhead)
	buf := make([]byte, 0, 100)
	both := testing.AllocsPerRun(2000, func() {
		total += 1000
		near.hear(wire.KindTunnelCredit, wire.TunnelCredit{ID: 9, Flags: wire.FlagOpener, Total: total, Seal: seal}.AppendTo(buf))
		far.hear(wire.KindTunnelCredit, wire.TunnelCredit{ID: id, Total: total, Seal: seal}.AppendTo(buf))
		near.hear(wire.KindTunnelData, up)
		far.hear(wire.KindTunnelData, down)
	})
	if !raced.Enabled {
		require.Less(t, both, 1.0)
	}
	require.Empty(t, near.engine.Drops())
	l.Close()
	require.Zero(t, near.engine.Status())
	require.Zero(t, far.engine.Status())
}
