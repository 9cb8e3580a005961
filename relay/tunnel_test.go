// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/failure"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

// serveTunnels makes the node itself a member that keeps its side of each
// tunnel in a channel, without a goroutine.
func serveTunnels(t testing.TB, n *fake.Node, cluster string, limits patterns.Limits) <-chan patterns.TunnelSource {
	t.Helper()
	tunnels := make(chan patterns.TunnelSource, 1<<16)
	_, err := n.Serve(t.Context(), cluster, patterns.Service{Tunnel: func(_ context.Context, tn patterns.Tunnel) error {
		source := tn.(patterns.TunnelSource)
		source.Detach()
		tunnels <- source
		return nil
	}}, limits)
	require.NoError(t, err)
	return tunnels
}

// open opens a tunnel of that id and gives the relay so much credit.
func (b *binding) open(id uint64, cluster string, credit uint32) *session.TunnelReply {
	b.t.Helper()
	b.send(&session.OpenTunnel{Request: session.Request{ID: id, Cluster: cluster}, Credit: credit})
	reply := expect[*session.TunnelReply](b)
	require.Equal(b.t, id, reply.ID)
	require.Zero(b.t, reply.Failure)
	return reply
}

// This test follows a tunnel through its frames: it is opened, carries messages
// both ways for credit, and ends in good order.
func TestATunnelsFrames(t *testing.T) {
	r, n, cfg := start(t, nil)
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	headers := []session.Header{{Key: "k", Value: "v"}}
	b.send(&session.OpenTunnel{
		Request: session.Request{ID: 5, Cluster: "chat", Headers: headers, Body: []byte("hi")}, Credit: 1000,
	})
	reply := expect[*session.TunnelReply](b)
	require.Equal(t, &session.TunnelReply{
		ID: 5, Attempts: 1, Member: "0000000000000001", Peer: "peer", Credit: 80 << 10,
	}, reply)
	side := <-sides
	require.Equal(t, patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("hi")}, side.Info().Open)
	require.Equal(t, 1, r.Status().Clients[0].Tunnels)
	require.Positive(t, r.Status().Clients[0].TunnelBytes)

	b.send(&session.TunnelData{ID: 5, Chunk: []byte("hel")}, &session.TunnelData{ID: 5, Last: true, Chunk: []byte("lo")})
	m, err := side.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hello", string(m))

	// 1,000 of credit are 936 and 64 bytes; what is read gives more.
	require.NoError(t, side.Send(t.Context(), bytes.Repeat([]byte{7}, 936)))
	require.NoError(t, side.Send(t.Context(), bytes.Repeat([]byte{8}, 100)))
	require.Equal(t, &session.TunnelData{ID: 5, Last: true, Chunk: bytes.Repeat([]byte{7}, 936)}, expect[*session.TunnelData](b))
	require.Equal(t, &session.TunnelData{ID: 5, Chunk: bytes.Repeat([]byte{8}, 64)}, expect[*session.TunnelData](b))
	b.send(&session.Ping{Token: 1})
	expect[*session.Pong](b) // and nothing before it
	b.send(&session.TunnelCredit{ID: 5, Credit: 64, Read: 936})
	require.Equal(t, &session.TunnelData{ID: 5, Last: true, Chunk: bytes.Repeat([]byte{8}, 36)}, expect[*session.TunnelData](b))

	require.NoError(t, side.CloseSend())
	require.Equal(t, &session.TunnelEnd{ID: 5}, expect[*session.TunnelEnd](b))
	b.send(&session.TunnelData{ID: 5, Last: true, Chunk: []byte("last")}, &session.TunnelEnd{ID: 5})
	m, err = side.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "last", string(m))
	_, err = side.Receive(t.Context())
	require.Equal(t, io.EOF, err)
	<-side.Done()
	require.NoError(t, side.Err())
	eventually(t, func() bool { return r.Status().Clients[0].Tunnels == 0 }, "the tunnel is over")
	require.Zero(t, r.Status().Clients[0].TunnelBytes)

	// What crosses the end is ignored.
	b.send(&session.TunnelCredit{ID: 5, Credit: 1, Read: 1}, &session.TunnelEnd{ID: 5}, &session.TunnelData{ID: 5, Last: true},
		&session.TunnelReset{ID: 5, Failure: session.Failure{Outcome: session.OutcomeClosed}})
	b.send(&session.Ping{Token: 2})
	expect[*session.Pong](b)
}

// This test checks that a tunnel to a member of a client is delivered, waits
// for its credit, and is reset as it says.
func TestATunnelIsDelivered(t *testing.T) {
	r, n, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	b.send(&session.Register{ID: 1, Cluster: "chat", Patterns: session.ServesTunnels})
	expect[*session.Registered](b)
	tn, err := n.OpenTunnel(t.Context(), "chat", patterns.Message{Body: []byte("hi")})
	require.NoError(t, err)
	d := expect[*session.DeliverTunnel](b)
	require.Equal(t, uint64(1), d.Registration)
	require.Equal(t, "peer", d.From)
	require.Equal(t, "hi", string(d.Body))
	require.EqualValues(t, 80<<10, d.Credit)
	require.NoError(t, tn.Send(t.Context(), []byte("hello")))
	b.send(&session.Ping{})
	expect[*session.Pong](b)
	b.send(&session.TunnelCredit{ID: d.ID, Credit: 1000})
	require.Equal(t, "hello", string(expect[*session.TunnelData](b).Chunk))
	b.send(&session.TunnelReset{ID: d.ID, Failure: session.Failure{Outcome: session.OutcomeRemoteError, Code: 404, Text: "no room"}})
	_, err = tn.Receive(t.Context())
	require.Equal(t, &patterns.TunnelError{Code: 404, Message: "no room"}, err)

	// One that the caller resets, and one whose client is lost.
	tn, err = n.OpenTunnel(t.Context(), "chat", patterns.Message{})
	require.NoError(t, err)
	d = expect[*session.DeliverTunnel](b)
	require.NoError(t, tn.Reset(7, "enough"))
	require.Equal(t, &session.TunnelReset{ID: d.ID, Failure: session.Failure{
		Outcome: session.OutcomeRemoteError, MaybeRan: true, Code: 7, Text: "enough",
	}}, expect[*session.TunnelReset](b))
	tn, err = n.OpenTunnel(t.Context(), "chat", patterns.Message{})
	require.NoError(t, err)
	expect[*session.DeliverTunnel](b)
	b.conn.Close()
	_, err = tn.Receive(t.Context())
	require.Equal(t, patterns.ErrInterrupted, err)
	eventually(t, func() bool { return len(r.Status().Clients) == 0 }, "the session stays")
}

// This test goes one beyond the limit of tunnels, as an opener and as a member,
// and sees the named error and its counter; the place is there again later.
func TestOneTunnelBeyondTheLimit(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Tunnels = 2 })
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	b.send(&session.Register{ID: 1, Cluster: "mine", Patterns: session.ServesTunnels})
	expect[*session.Registered](b)
	b.open(1, "chat", 0)
	b.open(2, "chat", 0)
	b.send(&session.OpenTunnel{Request: session.Request{ID: 3, Cluster: "chat"}})
	err := failure.Error(expect[*session.TunnelReply](b).Failure, "chat")
	require.ErrorIs(t, err, relay.ErrTooManyTunnels)
	require.ErrorIs(t, err, patterns.ErrTooMany)
	require.EqualValues(t, 1, r.Status().Drops["tunnel.too_many"])

	tn, err := n.OpenTunnel(t.Context(), "mine", patterns.Message{})
	require.NoError(t, err)
	_, err = tn.Receive(t.Context())
	var reset *patterns.TunnelError
	require.ErrorAs(t, err, &reset)
	require.Contains(t, reset.Message, patterns.ErrOverloaded.Error())
	require.EqualValues(t, 2, r.Status().Drops["tunnel.too_many"])

	require.NoError(t, (<-sides).Reset(1, ""))
	expect[*session.TunnelReset](b)
	b.open(4, "chat", 0)
}

// This test checks what a client may not do with a tunnel: the session ends and
// says why.
func TestATunnelsRulesAreKept(t *testing.T) {
	large := &session.TunnelData{ID: 1, Chunk: make([]byte, session.MaxChunk)}
	tests := map[string][]session.Frame{
		"more data than credit": {large, large, large, large},
		"data behind its end":   {&session.TunnelEnd{ID: 1}, &session.TunnelData{ID: 1, Last: true}},
		"ended already":         {&session.TunnelEnd{ID: 1}, &session.TunnelEnd{ID: 1}},
		"more was read":         {&session.TunnelCredit{ID: 1, Credit: 1, Read: 1}},
		"is there already":      {&session.OpenTunnel{Request: session.Request{ID: 1, Cluster: "chat"}}},
		"does not reset":        {&session.TunnelReset{ID: 1, Failure: session.Failure{Outcome: session.OutcomeNoMembers}}},
		"does not send":         {&session.TunnelReply{ID: 1}},
	}
	for text, frames := range tests {
		_, n, cfg := start(t, nil)
		serveTunnels(t, n, "chat", patterns.Limits{})
		b := attach(t, cfg.Socket)
		b.open(1, "chat", 0)
		b.send(frames...)
		for {
			if f, ok := b.next().(*session.Error); ok {
				require.Equal(t, session.ReasonProtocol, f.Reason)
				require.Contains(t, f.Text, text)
				break
			}
		}
	}
}

// This test checks that tunnel traffic as fast as it goes does not keep the
// client's requests waiting.
func TestTunnelsDoNotDelayRequests(t *testing.T) {
	_, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	const tunnels = 4
	stop := make(chan struct{})
	for id := range uint64(tunnels) {
		b.open(id+1, "chat", 1<<30)
	}
	for range tunnels {
		side := <-sides
		go func() {
			body := make([]byte, 32<<10)
			for side.Send(context.Background(), body) == nil {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	defer close(stop)
	asked := uint64(100)
	b.send(&session.Request{ID: asked, Cluster: "geo"})
	chunks := map[uint64]int{}
	between, worst := 0, 0
	for asked < 200 {
		switch f := b.next().(type) {
		case *session.TunnelData:
			chunks[f.ID]++
			between += len(f.Chunk)
			b.send(&session.TunnelCredit{ID: f.ID, Credit: uint32(session.ChunkCost(len(f.Chunk))), Read: uint32(len(f.Chunk))})
		case *session.Reply:
			require.Equal(t, asked, f.ID)
			worst, between = max(worst, between), 0
			asked++
			b.send(&session.Request{ID: asked, Cluster: "geo"})
		}
	}
	// A write under way, the socket's buffer, and the next write.
	require.Less(t, worst, 8<<20)
	require.Len(t, chunks, tunnels, "each has its turn: %v", chunks)
}

// This test checks that a drain lets open tunnels finish, and opens none.
func TestADrainLetsTunnelsFinish(t *testing.T) {
	r, n, cfg := start(t, nil)
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	b.open(1, "chat", 1000)
	side := <-sides
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	expect[*session.Drain](b)
	b.send(&session.OpenTunnel{Request: session.Request{ID: 2, Cluster: "chat"}})
	b.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	k, body, err := b.reader.Next()
	if err == nil { // else nobody looks at it any more
		f, err := session.Decode(k, body)
		require.NoError(t, err)
		require.Equal(t, session.OutcomeDraining, f.(*session.TunnelReply).Outcome)
	}
	b.conn.SetReadDeadline(time.Now().Add(patience))
	b.reader = session.NewReader(b.conn, session.MaxFrame)
	require.Empty(t, ended)
	require.NoError(t, side.Send(t.Context(), []byte("still here")))
	require.Equal(t, "still here", string(expect[*session.TunnelData](b).Chunk))
	require.NoError(t, side.Close())
	require.Equal(t, &session.TunnelEnd{ID: 1, Closed: true}, expect[*session.TunnelEnd](b))
	expect[*session.Goodbye](b)
	b.conn.Close()
	require.NoError(t, <-ended)
}

// This test checks that who says that it reads no more hears no more, and that
// the other side hears that.
func TestAClosedTunnelSwallowsWhatComes(t *testing.T) {
	r, n, cfg := start(t, nil)
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	b := attach(t, cfg.Socket)
	b.open(1, "chat", 100)
	side := <-sides
	require.NoError(t, side.Send(t.Context(), make([]byte, 200)))
	expect[*session.TunnelData](b)
	b.send(&session.TunnelEnd{ID: 1}, &session.TunnelEnd{ID: 1, Closed: true})
	_, err := side.Receive(t.Context())
	require.Equal(t, io.EOF, err)
	for err == nil || errors.Is(err, io.EOF) {
		err = side.Send(t.Context(), make([]byte, 60<<10))
	}
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.Equal(t, &session.TunnelEnd{ID: 1}, expect[*session.TunnelEnd](b))
	eventually(t, func() bool { return r.Status().Clients[0].Tunnels == 0 }, "the tunnel is over")
}

// This test checks that a client which leaves a reply unread, and its tunnel
// unused, has no tunnel that nobody ends.
func TestATunnelEndsWithItsClient(t *testing.T) {
	_, n, cfg := start(t, nil)
	sides := serveTunnels(t, n, "chat", patterns.Limits{})
	for range 20 {
		b := dial(t, "unix", cfg.Socket)
		b.send(hello(), &session.OpenTunnel{Request: session.Request{ID: 1, Cluster: "chat"}})
		side := <-sides
		b.conn.Close()
		select {
		case <-side.Done():
			require.True(t, errors.Is(side.Err(), patterns.ErrInterrupted))
		case <-time.After(patience):
			t.Fatal("the tunnel stays")
		}
	}
}

// echoTunnel sends back what comes.
func echoTunnel(ctx context.Context, tn patterns.Tunnel) error {
	for {
		m, err := tn.Receive(ctx)
		if err == nil {
			err = tn.Send(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}
