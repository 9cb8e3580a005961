// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// busyLink is a link on which frames wait until frames is called: until then the
// last one may grow.
type busyLink struct {
	*testLink
	deaf bool // it has sent everything
}

func (l *busyLink) SendWait(ctx context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	r, err := l.testLink.SendWait(ctx, lane, k, parts...)
	r.Number = 1
	return r, err
}

func (l *busyLink) Extend(_ overlay.Receipt, parts ...[]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.sent)
	if l.deaf || n == 0 || l.sent[n-1].kind != wire.KindTunnelData {
		return false
	}
	f := &l.sent[n-1]
	f.body = append(f.body, bytes.Join(parts, nil)...)
	return true
}

func (r *rig) busy() *busyLink {
	l := &busyLink{testLink: r.link}
	r.over = l
	return l
}

// messagesOf are what a frame of data carries, and what it costs.
func messagesOf(t *testing.T, f sentFrame) (texts []string, cost int) {
	m, err := wire.DecodeTunnelData(f.body)
	require.NoError(t, err)
	cost = credit.Cost(len(m.Payload))
	if m.Flags&wire.FlagSeveral == 0 {
		return []string{string(m.Payload)}, cost
	}
	require.LessOrEqual(t, len(m.Payload), maxChunk)
	require.NoError(t, wire.CheckTunnelMessages(m.Payload))
	for rest := m.Payload; len(rest) > 0; {
		var body []byte
		body, rest = wire.FirstTunnelMessage(rest)
		texts = append(texts, string(body))
	}
	return texts, cost
}

func TestSmallMessagesShareAFrameWhileTheLinkIsBusy(t *testing.T) {
	// This test sends while the link takes nothing: the first message goes alone, the
	// next small ones share frames, large ones have their own, nothing is added
	// behind another frame or once the link has taken it, and a sealed tunnel, whose
	// chunks are numbered, adds nothing.
	inRig(t, false, func(t *testing.T, r *rig) {
		link := r.busy()
		tunnel, other := r.open(), r.open()
		send := func(tunnel *Tunnel, body string) { require.NoError(t, tunnel.Send(t.Context(), []byte(body))) }
		send(tunnel, "one")
		send(tunnel, "")
		require.NoError(t, tunnel.TrySend([]byte("two")))
		_, err := tunnel.SendPart(t.Context(), []byte("part"))
		require.NoError(t, err)
		large := string(make([]byte, smallMessage+1))
		send(tunnel, large)
		send(tunnel, "three")
		link.deaf = true
		send(tunnel, "four")
		link.deaf = false
		send(tunnel, "five")
		send(tunnel, "six")
		send(other, "other's")
		require.NoError(t, other.CloseSend())
		require.NoError(t, tunnel.CloseSend())
		var got []string
		for _, f := range r.link.frames() {
			if f.kind == wire.KindTunnelData {
				texts, _ := messagesOf(t, f)
				got = append(got, fmt.Sprintf("%.9q", texts))
			}
		}
		require.Equal(t, []string{
			`["one"]`, `["" "two"]`, `["part"]`, fmt.Sprintf("%.9q", []string{large}), `["three"]`,
			`["four"]`, `["five" "six"]`, `["other's"]`,
		}, got)
	})
	inRig(t, true, func(t *testing.T, r *rig) {
		r.busy()
		tunnel := r.open()
		for range 3 {
			require.NoError(t, tunnel.Send(t.Context(), []byte("sealed")))
		}
		require.Len(t, r.link.frames(), 3)
	})
}

func TestBothSidesCountTheSameCredit(t *testing.T) {
	// This test sends messages of any size on a busy link as long as there is
	// credit: what the sender has left is the first credit less what the frames
	// cost that the receiver gets, to the byte.
	for seed := range uint64(100) {
		inRig(t, false, func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(seed, 5))
			r.busy()
			tunnel := r.open()
			var want, got []string
			cost := 0
			for range 300 {
				body := string(make([]byte, rng.IntN(1<<rng.IntN(16))))
				if tunnel.TrySend([]byte(body)) == nil {
					want = append(want, body)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				if small := body[:min(len(body), 100)]; tunnel.Send(ctx, []byte(small)) == nil {
					want = append(want, small)
				}
				cancel()
			}
			for _, f := range r.link.frames() {
				if f.kind == wire.KindTunnelCredit { // TrySend asks for some
					continue
				}
				texts, n := messagesOf(t, f)
				got = append(got, texts...)
				cost += n
			}
			require.Equal(t, want, got, "seed %d", seed)
			require.Equal(t, credit.FirstWindow-cost, tunnel.state.out.Left(), "seed %d", seed)
		})
	}
}

func TestMessagesOfOneFrameComeOneByOne(t *testing.T) {
	// This test has a frame of several messages come: each is received by itself,
	// by Receive or ReceiveTo, one that is too large for Receive stays, and credit
	// is given for each. What a program has of a frame stays as it is.
	inRig(t, false, func(t *testing.T, r *rig) {
		tunnel := r.open()
		tunnel.limit = 40_000
		var again [][]byte
		tunnel.remote.recycle = func(b []byte) { again = append(again, b) }
		several := func(sizes ...int) {
			m := wire.TunnelData{ID: tunnel.id, Flags: wire.FlagLast | wire.FlagSeveral}
			for i, n := range sizes {
				m.Payload = append(wire.AppendTunnelLength(m.Payload, n), bytes.Repeat([]byte{byte(i + 1)}, n)...)
			}
			r.hear(wire.KindTunnelData, m.AppendTo(nil))
		}
		receive := func(seed byte, n int) []byte {
			body, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, bytes.Repeat([]byte{seed}, n), body)
			return body
		}
		receiveTo := func(seed byte, n int) {
			var w bytes.Buffer
			sum, err := tunnel.ReceiveTo(t.Context(), &w)
			require.NoError(t, err)
			require.EqualValues(t, n, sum)
			require.Equal(t, bytes.Repeat([]byte{seed}, n), append([]byte{}, w.Bytes()...))
		}
		several(5, 0, 45_000, 7)
		receive(1, 5)
		receive(2, 0)
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, patterns.ErrTooLarge)
		receiveTo(3, 45_000)
		receive(4, 7)
		require.Empty(t, again, "the program has some of it")
		require.Zero(t, tunnel.state.window.Held())
		several(1, 2)
		receiveTo(1, 1)
		require.Empty(t, again)
		receiveTo(2, 2)
		require.Len(t, again, 1, "nobody has it")
		require.Len(t, again[0], 3+2*wire.TunnelLength)
		several(100)
		several(3, 4)
		require.NoError(t, tunnel.Close(), "what was not received is dropped")
		require.Zero(t, tunnel.state.window.Held())
	})
}

func TestABrokenFrameOfSeveralEndsTheTunnel(t *testing.T) {
	// This test has the member send frames of several messages that are none, and
	// one in the middle of another message: each is a violation of the protocol.
	for name, f := range map[string]func(r *rig, id uint64){
		"no message":        func(r *rig, id uint64) { r.several(id, "") },
		"half a head":       func(r *rig, id uint64) { r.several(id, "\x00") },
		"half a body":       func(r *rig, id uint64) { r.several(id, "\x00\x03ab") },
		"more than it says": func(r *rig, id uint64) { r.several(id, "\x00\x01abc") },
		"within a message": func(r *rig, id uint64) {
			r.data(id, []byte("the beginning"), false)
			r.several(id, "\x00\x01a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, false, func(t *testing.T, r *rig) {
				tunnel := r.open()
				f(r, tunnel.id)
				<-tunnel.Done()
				require.ErrorIs(t, tunnel.Err(), patterns.ErrInterrupted)
				frames := r.link.frames()
				reset, err := wire.DecodeTunnelReset(frames[len(frames)-1].body)
				require.NoError(t, err)
				require.Equal(t, wire.CauseViolation, reset.Cause)
				_, err = tunnel.ReceiveTo(t.Context(), io.Discard)
				require.Error(t, err)
			})
		})
	}
}

// several has the engine get a frame of several messages.
func (r *rig) several(id uint64, chunk string) {
	m := wire.TunnelData{ID: id, Flags: wire.FlagLast | wire.FlagSeveral, Payload: []byte(chunk)}
	r.hear(wire.KindTunnelData, m.AppendTo(nil))
}

var _ request.Link = (*busyLink)(nil)
