// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// askTunnel asks for a tunnel.
func (b *binding) askTunnel(id, number uint64, cluster string) {
	b.t.Helper()
	o := wire.TunnelOpen{ID: number, Credit: 1 << 16, Body: []byte("first")}
	b.request(wire.Request{ID: id, Pattern: uint8(patterns.PatternTunnel), Route: &wire.Route{Cluster: cluster}, Tail: tail(string(o.AppendTo(nil)))})
}

// open is askTunnel, and returns the reply. The other side may be quick.
func (b *binding) open(id, number uint64, cluster string) wire.Reply {
	b.t.Helper()
	b.askTunnel(id, number, cluster)
	return behind(b, wire.KindReply, wire.DecodeReply)
}

// accept takes a tunnel that is delivered.
func (b *binding) accept(credit uint32) wire.TunnelOpen {
	b.t.Helper()
	d := b.delivery()
	require.Equal(b.t, uint8(patterns.PatternTunnel), d.Pattern)
	o, err := wire.DecodeTunnelOpen([]byte(bodyOf(b.t, d.Tail)))
	require.NoError(b.t, err)
	b.send(wire.LaneBulk, wire.KindReply, &wire.Reply{ID: d.ID, Tail: tail(string(wire.TunnelAccept{Credit: credit}.AppendTo(nil)))})
	return o
}

func (b *binding) data(id uint64, flags uint8, text string) {
	b.t.Helper()
	b.send(wire.LaneBulk, wire.KindTunnelData, wire.TunnelData{ID: id, Flags: flags, Payload: []byte(text)})
}

// nextOf returns the next frame of that kind; credit and other news may come
// before.
func nextOf[M any](b *binding, kind wire.Kind, decode func([]byte) (M, error)) M {
	b.t.Helper()
	return behind(b, kind, decode, wire.KindTunnelCredit, wire.KindTunnelData, wire.KindGap)
}

// echoTunnel sends back each message.
func echoTunnel(ctx context.Context, tu patterns.Tunnel) error {
	for {
		m, err := tu.Receive(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := tu.Send(ctx, m); err != nil {
			return err
		}
	}
}

// TestATunnelsFrames follows a tunnel from its opening by a client to its end in
// good order.
func TestATunnelsFrames(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("pipe")
		b := s.attach()
		r := b.open(1, 5, "pipe")
		require.Zero(t, r.Outcome, bodyOf(t, r.Tail))
		a, err := wire.DecodeTunnelAccept([]byte(bodyOf(t, r.Tail)))
		require.NoError(t, err)
		require.Positive(t, a.Credit)
		for range 3 {
			b.data(5, wire.FlagOpener, "hel")
			b.data(5, wire.FlagOpener|wire.FlagLast, "lo")
			require.Equal(t, "hello", string(nextOf(b, wire.KindTunnelData, wire.DecodeTunnelData).Payload))
		}
		b.send(wire.LaneBulk, wire.KindTunnelEnd, wire.TunnelEnd{ID: 5, Flags: wire.FlagOpener})
		nextOf(b, wire.KindTunnelEnd, wire.DecodeTunnelEnd)
		eventually(t, func() bool { return s.relay.Status().Clients[0].Tunnels == 0 }, "it stays")
	})
}

// TestATunnelGoesFromClientToClient proves that what one sends comes to the other
// within the credit that it gave, and that each end is told.
func TestATunnelGoesFromClientToClient(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("pipe")
		caller.askTunnel(1, 5, "pipe")
		o := server.accept(1 << 16)
		require.Equal(t, "first", string(o.Body))
		require.Zero(t, caller.reply().Outcome)
		caller.data(5, wire.FlagOpener|wire.FlagLast, "hi")
		d := nextOf(server, wire.KindTunnelData, wire.DecodeTunnelData)
		require.Equal(t, wire.TunnelData{ID: o.ID, Flags: wire.FlagOpener | wire.FlagLast, Payload: []byte("hi")}, d)
		server.data(o.ID, wire.FlagLast, "ho")
		d = nextOf(caller, wire.KindTunnelData, wire.DecodeTunnelData)
		require.Equal(t, wire.TunnelData{ID: 5, Flags: wire.FlagLast, Payload: []byte("ho")}, d)
		server.send(wire.LaneCtl, wire.KindTunnelReset, &wire.TunnelReset{ID: o.ID, Cause: wire.CauseProgram, Code: 7, Text: "enough"})
		reset := nextOf(caller, wire.KindTunnelReset, wire.DecodeTunnelReset)
		require.Equal(t, uint32(7), reset.Code)
		require.Equal(t, "enough", reset.Text)
	})
}

// TestATunnelEndsWithItsClient proves that the other side is interrupted when a
// session ends, and not before.
func TestATunnelEndsWithItsClient(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("pipe")
		caller.askTunnel(1, 5, "pipe")
		o := server.accept(1 << 16)
		require.Zero(t, caller.reply().Outcome)
		server.conn.Close()
		time.Sleep(10 * time.Second)
		require.False(t, caller.has() && caller.ahead[len(caller.ahead)-1].kind == wire.KindTunnelReset)
		server = server.resume(s.dial())
		server.data(o.ID, wire.FlagLast, "still here")
		require.Equal(t, "still here", string(nextOf(caller, wire.KindTunnelData, wire.DecodeTunnelData).Payload))
		server.send(wire.LaneCtl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndShutdown})
		reset := nextOf(caller, wire.KindTunnelReset, wire.DecodeTunnelReset)
		require.Equal(t, wire.CauseInterrupted, reset.Cause)
	})
}

// TestWhileATunnelIsOpenADrainServesAsBefore proves that all goes on as before while a tunnel is
// open: members are found, calls and new tunnels are answered, programs attach and
// serve; and that the drain goes on when no tunnel is left.
func TestWhileATunnelIsOpenADrainServesAsBefore(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("pipe")
		b, server := s.attach(), s.attach()
		require.Zero(t, b.open(1, 5, "pipe").Outcome)
		server.register(1, "geo")
		ended := s.shutdownWithin(6 * time.Second)
		time.Sleep(3 * time.Second)
		require.True(t, s.relay.Status().Draining)
		late := s.attach()
		late.ask(1, "geo", "hi")
		server.answer(server.delivery())
		require.Equal(t, "hi", bodyOf(t, late.reply().Tail))
		late.register(2, "new")
		require.Zero(t, b.open(2, 6, "pipe").Outcome)
		for _, id := range []uint64{5, 6} {
			require.Empty(t, ended)
			b.data(id, wire.FlagOpener|wire.FlagLast, "still")
			require.Equal(t, "still", string(nextOf(b, wire.KindTunnelData, wire.DecodeTunnelData).Payload))
			b.send(wire.LaneBulk, wire.KindTunnelEnd, wire.TunnelEnd{ID: id, Flags: wire.FlagOpener})
			nextOf(b, wire.KindTunnelEnd, wire.DecodeTunnelEnd)
		}
		for _, each := range []*binding{b, server, late} {
			nextOf(each, wire.KindNotice, wire.DecodeLeafNotice)
			nextOf(each, wire.KindGoodbye, wire.DecodeLeafGoodbye)
			each.conn.Close()
		}
		require.NoError(t, <-ended)
	})
}

// TestATunnelThatOutlastsTheDrainIsInterrupted proves that it has two thirds of the
// time, that none is opened then, and that the drain says what it cut.
func TestATunnelThatOutlastsTheDrainIsInterrupted(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("pipe")
		b := s.attach()
		require.Zero(t, b.open(1, 5, "pipe").Outcome)
		began, ended := time.Now(), s.shutdownWithin(6*time.Second)
		nextOf(b, wire.KindNotice, wire.DecodeLeafNotice)
		require.InDelta(t, 4, time.Since(began).Seconds(), 0.001)
		b.data(5, wire.FlagOpener|wire.FlagLast, "still")
		require.Equal(t, "still", string(nextOf(b, wire.KindTunnelData, wire.DecodeTunnelData).Payload))
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, wire.OutcomeDraining, b.open(2, 6, "pipe").Outcome)
		require.Equal(t, wire.CauseLeaving, nextOf(b, wire.KindTunnelReset, wire.DecodeTunnelReset).Cause)
		nextOf(b, wire.KindGoodbye, wire.DecodeLeafGoodbye)
		b.conn.Close()
		require.ErrorIs(t, <-ended, relay.ErrTunnelsCut)
	})
}
