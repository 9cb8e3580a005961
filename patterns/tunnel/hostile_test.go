// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

const farPeer = peer.ID("member")

// salt is the member's.
var salt = bytes.Repeat([]byte{9}, 24)

func TestAPeerThatBreaksTheProtocolLosesTheTunnel(t *testing.T) {
	// This test has the member send what none may: the tunnel ends for both,
	// it is counted, and no other tunnel is touched.
	big := make([]byte, 60_000)
	for name, f := range map[string]func(r *rig, id uint64){
		"data without credit": func(r *rig, id uint64) { r.data(id, big, true); r.data(id, big, true) },
		"data behind the end": func(r *rig, id uint64) {
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: id}.AppendTo(nil))
			r.data(id, []byte("x"), true)
		},
		"a chunk of nothing": func(r *rig, id uint64) { r.data(id, nil, false) },
		"credit that is none": func(r *rig, id uint64) {
			r.hear(wire.KindTunnelCredit, wire.TunnelData{ID: id, Payload: []byte("x")}.AppendTo(nil))
		},
		"short chunks": func(r *rig, id uint64) {
			for range credit.FirstWindow/credit.MinCost + 1 {
				r.data(id, []byte("x"), true)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, false, func(t *testing.T, r *rig) {
				tunnel, other := r.open(), r.open()
				f(r, tunnel.id)
				<-tunnel.Done()
				require.ErrorIs(t, tunnel.Err(), patterns.ErrInterrupted)
				frames := r.link.frames()
				reset, err := wire.DecodeTunnelReset(frames[len(frames)-1].body)
				require.NoError(t, err)
				require.Equal(t, wire.CauseViolation, reset.Cause)
				require.Equal(t, tunnel.id, reset.ID)
				require.EqualValues(t, 1, r.engine.Drops()["violation"])
				require.NoError(t, other.Err())
				require.Equal(t, 1, r.engine.Status().Opened)
				require.Equal(t, credit.FirstWindow, r.engine.Status().BufferBytes)
			})
		})
	}
}

func TestFramesOfUnknownTunnelsAreCountedAndNoMore(t *testing.T) {
	// This test sends frames with ids and flags that name no tunnel, and bytes
	// that are no frames.
	inRig(t, false, func(t *testing.T, r *rig) {
		tunnel := r.open()
		r.data(999, []byte("x"), true)
		r.hear(wire.KindTunnelData, wire.TunnelData{ID: tunnel.id, Flags: wire.FlagOpener, Payload: []byte("x")}.AppendTo(nil))
		r.hear(wire.KindTunnelData, []byte("short"))
		r.hear(wire.KindTunnelReset, wire.TunnelReset{ID: 999}.AppendTo(nil))
		require.Equal(t, map[string]uint64{"unknown": 2, "malformed": 1}, r.engine.Drops())
		require.NoError(t, tunnel.Err())
		frames := r.link.frames()
		require.Len(t, frames, 1, "the member that sends is told")
		reset, err := wire.DecodeTunnelReset(frames[0].body)
		require.NoError(t, err)
		require.EqualValues(t, 999, reset.ID)
	})
}

func TestWhatComesBeforeTheAnswerIsKept(t *testing.T) {
	// This test has the member send, and end, before the opener knows it; a
	// peer that only claims the same id is not heard.
	inRig(t, false, func(t *testing.T, r *rig) {
		r.before = func(o wire.TunnelOpen) {
			r.data(o.ID, []byte("a"), true)
			r.hears[wire.KindTunnelData](strangerLink{r.link}, wire.TunnelData{ID: o.ID, Flags: wire.FlagLast, Payload: []byte("no")}.AppendTo(nil))
			r.data(o.ID, []byte("b"), true)
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: o.ID}.AppendTo(nil))
		}
		tunnel := r.open()
		for _, want := range []string{"a", "b"} {
			body, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, string(body))
		}
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, io.EOF)
	})
}

type strangerLink struct{ *testLink }

func (strangerLink) Peer() peer.ID { return "stranger" }

func TestAStrangerCantSpoilAnOpening(t *testing.T) {
	// This test has a peer that was not asked send far more for an opening than
	// anybody may, before and behind the member, which uses up its credit in the
	// shortest sealed chunks: the tunnel is whole.
	flood := func(r *rig, id uint64) {
		for range 3000 {
			r.hears[wire.KindTunnelData](strangerLink{r.link}, wire.TunnelData{ID: id, Flags: wire.FlagLast, Payload: make([]byte, 1000)}.AppendTo(nil))
		}
	}
	inRig(t, true, func(t *testing.T, r *rig) {
		const chunks = credit.FirstWindow / credit.MinCost
		r.before = func(o wire.TunnelOpen) {
			far, err := r.keys.Stream(security.StreamBinding{
				Opener: "opener", OpenerIncarnation: 3, Member: 1, MemberIncarnation: 4, Tunnel: o.ID,
			}, o.Stream, salt, false)
			require.NoError(t, err)
			flood(r, o.ID)
			for range chunks {
				r.data(o.ID, far.Seal(nil, make([]byte, credit.MinCost), wire.FlagLast), true)
			}
			flood(r, o.ID)
		}
		tunnel := r.open()
		for range chunks {
			_, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
		}
		require.NoError(t, tunnel.Err())
		require.NotZero(t, r.engine.Drops()["early"])
	})
}

func TestMoreThanTheCreditBeforeTheAnswerEndsTheTunnel(t *testing.T) {
	// This test floods an opening, with long chunks and with short ones: what is
	// kept is bounded, and nothing is received with a hole in it.
	for _, size := range []int{1, 60_000} {
		inRig(t, false, func(t *testing.T, r *rig) {
			r.before = func(o wire.TunnelOpen) {
				for range 5000 {
					r.data(o.ID, make([]byte, size), true)
				}
			}
			opened, err := r.engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
			require.NoError(t, err)
			<-opened.Done()
			require.ErrorIs(t, opened.Err(), patterns.ErrInterrupted)
			require.NotZero(t, r.engine.Drops()["early"])
			require.Zero(t, r.engine.Status())
			require.Empty(t, r.engine.table.peers)
		})
	}
}

func TestAnOpeningThatFailsLeavesNothing(t *testing.T) {
	// This test has the asking fail after somebody took the tunnel for open:
	// that one is told, and nothing is left.
	inRig(t, false, func(t *testing.T, r *rig) {
		r.answer = patterns.ErrInterrupted
		r.before = func(o wire.TunnelOpen) { r.data(o.ID, []byte("x"), true) }
		_, err := r.engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.ErrorIs(t, err, patterns.ErrInterrupted)
		require.Equal(t, wire.KindTunnelReset, r.link.frames()[0].kind)
		require.Zero(t, r.engine.Status())
		require.Empty(t, r.engine.table.openings)
	})
}

func TestAFullLaneHoldsUpNobodyWhoCantWait(t *testing.T) {
	// This test takes the lanes' room away: TrySend, ends, credit and resets don't
	// wait, are bounded, and leave in order when there is room.
	inRig(t, false, func(t *testing.T, r *rig) {
		var tunnels []*Tunnel
		for range 40 {
			tunnels = append(tunnels, r.open())
		}
		last := tunnels[39]
		r.link.fill()
		parked := 0
		for _, tunnel := range tunnels[:39] {
			if tunnel.TrySend(make([]byte, 60_000)) == nil {
				parked++
			}
		}
		require.Equal(t, lineBytes/60_000, parked)
		require.ErrorIs(t, last.TrySend(make([]byte, 60_000)), patterns.ErrWouldBlock)
		require.NoError(t, tunnels[0].TrySend([]byte("small")))
		require.NoError(t, tunnels[0].CloseSend())
		require.NoError(t, tunnels[1].Reset(1, "over"))
		r.data(tunnels[0].id, make([]byte, 60_000), true)
		_, err := tunnels[0].Receive(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.Less(t, r.engine.Status().UnsentBytes, lineBytes+60_000)

		r.link.empty()
		synctest.Wait()
		require.NoError(t, last.TrySend(make([]byte, 60_000)))
		require.Zero(t, r.engine.Status().UnsentBytes)
		var order []wire.Kind
		credit, resets := 0, 0
		for _, f := range r.link.frames() {
			id, _, err := wire.TunnelOf(f.body)
			require.NoError(t, err)
			switch {
			case f.kind == wire.KindTunnelReset:
				resets++
				require.Equal(t, overlay.LaneCtl, f.lane)
			case f.kind == wire.KindTunnelCredit:
				credit++
			case id == tunnels[0].id:
				order = append(order, f.kind)
				require.Equal(t, overlay.LaneBulk, f.lane)
			}
		}
		require.Equal(t, []wire.Kind{wire.KindTunnelData, wire.KindTunnelData, wire.KindTunnelEnd}, order)
		require.Equal(t, 1, credit)
		require.Equal(t, 1, resets)
	})
}

func TestASendWaitsForRoomAndGivesUp(t *testing.T) {
	// This test lets the deadline of a Send come while the lane is full: a plain
	// message was not sent and may be again; a sealed chunk, which has a number,
	// goes nevertheless.
	for _, sealed := range []bool{false, true} {
		inRig(t, sealed, func(t *testing.T, r *rig) {
			tunnel := r.open()
			r.link.fill()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := tunnel.Send(ctx, []byte("late"))
			if sealed {
				require.NoError(t, err)
			} else {
				var late *patterns.DeadlineError
				require.ErrorAs(t, err, &late)
			}
			require.NoError(t, tunnel.Err())
			r.link.empty()
			require.NoError(t, tunnel.Send(t.Context(), []byte("in time")))
			synctest.Wait()
			frames := r.link.frames()
			if sealed {
				require.Len(t, frames, 2)
			} else {
				require.Len(t, frames, 1)
			}
			require.Equal(t, tunnel.state.out.Left(), credit.FirstWindow-len(frames)*credit.MinCost)
		})
	}
}

func TestALostSessionEndsItsTunnelsOnly(t *testing.T) {
	// This test loses a session: its tunnels end, those of the next one do not,
	// and an opening whose answer came on the lost one is interrupted at once.
	inRig(t, false, func(t *testing.T, r *rig) {
		tunnel := r.open()
		require.Equal(t, 1, r.link.held)
		r.link.mu.Lock()
		r.link.session = 6
		r.link.mu.Unlock()
		r.events(overlay.PeerEvent{Type: overlay.LinkDown, Peer: farPeer, Session: 5})
		require.ErrorIs(t, tunnel.Err(), patterns.ErrInterrupted)
		require.Zero(t, r.link.held)

		opened, err := r.engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{}) // answered on 5
		require.NoError(t, err)
		require.ErrorIs(t, opened.Err(), patterns.ErrInterrupted)
		require.ErrorIs(t, opened.Send(t.Context(), nil), patterns.ErrInterrupted)
		require.Zero(t, r.engine.Status())
		require.Zero(t, r.link.held)
	})
}

func TestSendingAndReceivingCostNoAllocation(t *testing.T) {
	// This test counts what a small message costs on its way out and in, beside
	// the body that the link's reader made.
	r := newRig(t, false)
	tunnel := r.open()
	r.link.quiet = true
	tunnel.state.out = credit.NewBalance(credit.MaxBalance)
	ctx, body := context.Background(), make([]byte, 1000)
	frame := wire.TunnelData{ID: tunnel.id, Flags: wire.FlagLast, Payload: body}.AppendTo(nil)
	send := testing.AllocsPerRun(2000, func() {
		if err := tunnel.Send(ctx, body); err != nil {
			panic(err)
		}
	})
	receive := testing.AllocsPerRun(2000, func() {
		r.hear(wire.KindTunnelData, frame)
		if got, err := tunnel.Receive(ctx); err != nil || len(got) != 1000 {
			panic(err)
		}
	})
	if !raced.Enabled {
		require.Less(t, send, 1.0)
		require.Less(t, receive, 1.0)
	}
	require.NoError(t, tunnel.Close())
}

func TestConfigIsChecked(t *testing.T) {
	// This test leaves out each thing that New needs.
	r := newRig(t, false)
	whole := r.engine.cfg
	for name, change := range map[string]func(*Config){
		"Links":       func(c *Config) { c.Links = nil },
		"Ask":         func(c *Config) { c.Ask = nil },
		"Clock":       func(c *Config) { c.Clock = nil },
		"Rand":        func(c *Config) { c.Rand = nil },
		"Exec":        func(c *Config) { c.Exec = nil },
		"Incarnation": func(c *Config) { c.Incarnation = 0 },
		"BufferBytes": func(c *Config) { c.BufferBytes = 1000 },
		"MaxOpen":     func(c *Config) { c.MaxOpen = -1 },
	} {
		c := whole
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
}

// FuzzFrames proves that no frames of a peer make an engine panic, or hold more
// than a tunnel's window.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 2, 'a', 'b'})
	f.Fuzz(func(t *testing.T, script []byte) {
		r := newRig(t, len(script) > 0 && script[0]&1 != 0)
		opened, err := r.engine.Open(context.Background(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.NoError(t, err)
		tunnel := opened.(*Tunnel)
		for len(script) > 2 {
			k := wire.KindTunnelData + wire.Kind(script[0]%4)
			n := min(int(script[1]), len(script)-2)
			body := append(wire.TunnelData{ID: tunnel.id, Flags: script[2] & 15}.AppendHead(nil), script[2:2+n]...)
			r.hear(k, body)
			script = script[2+n:]
			if tunnel.state.window.Held() > credit.FirstWindow {
				t.Fatal("more is held than was allowed")
			}
			if n%3 == 0 {
				_, err := tunnel.Receive(r.engine.atOnce)
				if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && tunnel.Err() == nil {
					t.Fatal(err)
				}
			}
		}
		_ = tunnel.Close()
	})
}
