// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// serveTunnels makes m a member of the cluster that takes tunnels.
func serveTunnels(t testing.TB, m patterns.Messenger, cluster string, h func(context.Context, patterns.Tunnel) error, limits patterns.Limits) patterns.Registration {
	t.Helper()
	r, err := m.Serve(t.Context(), cluster, patterns.Service{Tunnel: h}, limits)
	require.NoError(t, err)
	return r
}

func open(t testing.TB, m patterns.Messenger, cluster string) patterns.Tunnel {
	t.Helper()
	tunnel, err := m.OpenTunnel(t.Context(), cluster, patterns.Message{})
	require.NoError(t, err)
	return tunnel
}

// echoes sends every message back, and ends when the other side does.
func echoes(ctx context.Context, t patterns.Tunnel) error {
	for {
		m, err := t.Receive(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = t.Send(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// twoClients are attached to relays of one node: the first serves.
func twoClients(t testing.TB, change func(*relay.Config)) (p *place, server, caller *client.Client) {
	p = newPlace(t)
	p.change = change
	p.relay()
	return p, p.client(), p.client()
}

// This test checks that a tunnel is what it was opened with on both sides, that
// messages of any size keep their bounds and order, and that it ends in good
// order for both.
func TestATunnelCarriesWholeMessages(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	infos := make(chan patterns.TunnelInfo, 1)
	ended := make(chan error, 1)
	r := serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		infos <- tn.Info()
		err := echoes(ctx, tn)
		go func() {
			<-tn.Done()
			ended <- tn.Err()
		}()
		return err
	}, patterns.Limits{})
	var how patterns.RequestReport
	first := patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("hi")}
	tn, err := caller.OpenTunnel(t.Context(), "chat", first, patterns.Report(&how))
	require.NoError(t, err)
	require.Equal(t, patterns.RequestReport{Member: r.Member(), Attempts: 1}, how)
	require.Equal(t, patterns.TunnelInfo{Cluster: "chat", Member: r.Member(), Peer: "peer"}, tn.Info())
	require.Equal(t, patterns.TunnelInfo{Cluster: "chat", Member: r.Member(), Peer: "peer", Open: first}, <-infos)

	for i, size := range []int{0, 1, 63, 64, 65, 1000, 64 << 10, 64<<10 + 1, 200 << 10, 1 << 20} {
		body := bytes.Repeat([]byte{byte(i)}, size)
		require.NoError(t, tn.Send(t.Context(), body))
		got, err := tn.Receive(t.Context())
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, got), "size %d", size)
	}
	require.NoError(t, tn.CloseSend())
	require.ErrorIs(t, tn.Send(t.Context(), nil), patterns.ErrClosed)
	_, err = tn.Receive(t.Context())
	require.Equal(t, io.EOF, err)
	<-tn.Done()
	require.NoError(t, tn.Err())
	require.NoError(t, <-ended)
}

// This test checks that a message much larger than every window and limit goes
// through in both directions at once, whole, when it is streamed.
func TestAStreamOfAnySizeGoesThrough(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		r, w := io.Pipe()
		go func() {
			_, err := tn.ReceiveTo(ctx, w)
			w.CloseWithError(err)
		}()
		_, err := tn.SendFrom(ctx, r)
		return err
	}, patterns.Limits{})
	const size = 64 << 20
	source := func() io.Reader {
		return io.LimitReader(rand.NewChaCha8([32]byte{1}), size)
	}
	want := sha256.New()
	io.Copy(want, source())
	tn := open(t, caller, "chat")
	sent := make(chan error, 1)
	go func() {
		n, err := tn.SendFrom(t.Context(), source())
		if n != size {
			err = errors.Join(err, fmt.Errorf("%d bytes", n))
		}
		sent <- errors.Join(err, tn.CloseSend())
	}()
	got := sha256.New()
	n, err := tn.ReceiveTo(t.Context(), got)
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	require.Equal(t, want.Sum(nil), got.Sum(nil))
	require.NoError(t, <-sent)
	_, err = tn.Receive(t.Context())
	require.Equal(t, io.EOF, err)
}

// This test checks that a message beyond the limit stays where it is, and can
// be had as a stream.
func TestAMessageThatIsTooLargeIsNotLost(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	body := bytes.Repeat([]byte("0123456789abcdef"), 100<<10/16)
	got := make(chan []byte, 1)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		for range 2 {
			_, err := tn.Receive(ctx)
			if !errors.Is(err, patterns.ErrTooLarge) {
				return fmt.Errorf("no ErrTooLarge: %w", err)
			}
		}
		var b bytes.Buffer
		if _, err := tn.ReceiveTo(ctx, &b); err != nil {
			return err
		}
		got <- b.Bytes()
		return echoes(ctx, tn)
	}, patterns.Limits{MessageBytes: 99 << 10})
	tn := open(t, caller, "chat")
	require.NoError(t, tn.Send(t.Context(), body))
	require.NoError(t, tn.Send(t.Context(), []byte("next")))
	require.True(t, bytes.Equal(body, <-got))
	next, err := tn.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "next", string(next))
	require.NoError(t, tn.Close())
}

// This test checks that a reader which stops also stops the writer, after a
// bounded number of bytes; that TrySend says so, and sends nothing; and that
// all goes on when it reads again.
func TestASlowReaderSlowsTheWriter(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	read := make(chan struct{})
	total := make(chan int, 1)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		<-read
		n := 0
		for {
			m, err := tn.Receive(ctx)
			if err != nil {
				total <- n
				return nil
			}
			n += len(m)
		}
	}, patterns.Limits{})
	tn := open(t, caller, "chat")
	body := make([]byte, 10<<10)
	sent := 0
	for calm := 0; calm < 50 || sent <= 64<<10 && calm < 10_000; {
		switch err := tn.TrySend(body); {
		case err == nil:
			sent, calm = sent+len(body), 0
		case errors.Is(err, patterns.ErrWouldBlock):
			calm++
			time.Sleep(time.Millisecond)
		default:
			require.NoError(t, err)
		}
	}
	// The relay holds a window, the node one, the other client none that the
	// node does not count.
	require.Greater(t, sent, 64<<10)
	require.Less(t, sent, 400<<10)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := tn.Send(ctx, body)
	var late *patterns.DeadlineError
	require.ErrorAs(t, err, &late)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tn.Err(), "a message that was not begun does no harm")

	close(read)
	require.NoError(t, tn.Send(t.Context(), body))
	require.NoError(t, tn.CloseSend())
	require.Equal(t, sent+len(body), <-total)
}

// This test checks that who gives up in the middle of a message resets the
// tunnel, so that nobody waits for the rest or takes it for a message.
func TestATornMessageResetsTheTunnel(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	ended := make(chan error, 1)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		<-tn.Done()
		_, err := tn.Receive(context.Background())
		ended <- err
		return nil
	}, patterns.Limits{})
	tn := open(t, caller, "chat")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := tn.Send(ctx, make([]byte, 4<<20))
	var late *patterns.DeadlineError
	require.ErrorAs(t, err, &late)
	require.True(t, late.MaybeRan)
	var reset *patterns.TunnelError
	require.ErrorAs(t, <-ended, &reset)
	<-tn.Done()
	require.ErrorIs(t, tn.Err(), patterns.ErrClosed)
}

// This test checks each way in which a tunnel ends, as the other side sees it.
func TestATunnelsEndIsTyped(t *testing.T) {
	boom := func(context.Context, patterns.Tunnel) error { panic("boom") }
	tests := []struct {
		name    string
		handler func(context.Context, patterns.Tunnel) error
		want    error
	}{
		{"done", func(context.Context, patterns.Tunnel) error { return nil }, io.EOF},
		{"an error", func(context.Context, patterns.Tunnel) error { return errors.New("no") }, &patterns.TunnelError{Message: "no"}},
		{"a code", func(context.Context, patterns.Tunnel) error {
			return &patterns.RemoteError{Code: 404, Message: "no room"}
		}, &patterns.TunnelError{Code: 404, Message: "no room"}},
		{"a reset", func(_ context.Context, tn patterns.Tunnel) error { return tn.Reset(7, "enough") }, &patterns.TunnelError{Code: 7, Message: "enough"}},
		{"a panic", boom, &patterns.TunnelError{Code: patterns.CodePanic, Message: "boom"}},
		{"a member that takes none", nil, &patterns.RemoteError{Cluster: "chat", Code: patterns.CodeNoMethod}},
	}
	_, server, caller := twoClients(t, nil)
	for _, tt := range tests {
		r := serveTunnels(t, server, "chat", tt.handler, patterns.Limits{})
		tn, err := caller.OpenTunnel(t.Context(), "chat", patterns.Message{})
		if tt.handler == nil {
			var remote *patterns.RemoteError
			require.ErrorAs(t, err, &remote, tt.name)
			require.Equal(t, patterns.CodeNoMethod, remote.Code)
			require.NoError(t, r.Close(t.Context()))
			continue
		}
		require.NoError(t, err, tt.name)
		_, err = tn.Receive(t.Context())
		require.Equal(t, tt.want, err, tt.name)
		require.NoError(t, tn.Close())
		<-tn.Done()
		if tt.want == io.EOF {
			require.NoError(t, tn.Err())
		} else {
			require.Equal(t, tt.want, tn.Err(), tt.name)
		}
		require.NoError(t, r.Close(t.Context()))
	}
}

// This test checks what both sides see when the relay of one is gone, and when
// one closes.
func TestALostRelayInterruptsTunnels(t *testing.T) {
	p := newPlace(t)
	p.relay()
	server := p.client()
	served := make(chan error, 2)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		_, err := tn.Receive(context.Background())
		<-ctx.Done()
		served <- err
		return nil
	}, patterns.Limits{})

	second := newPlace(t)
	second.node = p.node // the same network, another relay
	r := second.relay()
	caller := second.client()
	tn := open(t, caller, "chat")
	require.NoError(t, r.Close())
	_, err := tn.Receive(t.Context())
	require.Equal(t, patterns.ErrInterrupted, err)
	require.ErrorIs(t, tn.Send(t.Context(), nil), patterns.ErrInterrupted)
	<-tn.Done()
	require.ErrorIs(t, tn.Err(), patterns.ErrInterrupted)
	require.ErrorIs(t, <-served, patterns.ErrInterrupted)

	second.relay()
	eventually(t, func() bool {
		tn, err = caller.OpenTunnel(t.Context(), "chat", patterns.Message{})
		return err == nil
	}, "the client re-attaches")
	require.NoError(t, caller.Close())
	_, err = tn.Receive(t.Context())
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.ErrorIs(t, <-served, patterns.ErrInterrupted)
	_, err = caller.OpenTunnel(t.Context(), "chat", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrClosed)
}

// This test checks the failures of an opening, which are those of a request.
func TestAnOpeningFailsAsARequestDoes(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	_, err := caller.OpenTunnel(t.Context(), "nobody", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrNoMembers)
	_, err = caller.OpenTunnel(t.Context(), "chat", patterns.Message{Body: make([]byte, 17<<20)})
	require.ErrorIs(t, err, patterns.ErrTooLarge)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = caller.OpenTunnel(ctx, "chat", patterns.Message{})
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = caller.OpenTunnel(ctx, "chat", patterns.Message{}, patterns.WaitForMember())
	require.Error(t, err)

	opened := make(chan error, 1)
	go func() {
		tn, err := caller.OpenTunnel(t.Context(), "late", patterns.Message{}, patterns.WaitForMember())
		if err == nil {
			err = tn.Close()
		}
		opened <- err
	}()
	serveTunnels(t, server, "late", echoes, patterns.Limits{Tunnels: 1})
	require.NoError(t, <-opened)

	var full patterns.Tunnel
	eventually(t, func() bool {
		full, err = caller.OpenTunnel(t.Context(), "late", patterns.Message{})
		return err == nil
	}, "the first one is over")
	_, err = caller.OpenTunnel(t.Context(), "late", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrOverloaded, "the member's own limit")
	require.NoError(t, full.Close())
}

// This test checks that Shutdown lets tunnels finish, in both roles, and that
// it ends with its context.
func TestShutdownWaitsForTunnels(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	serveTunnels(t, server, "chat", echoes, patterns.Limits{})
	tn := open(t, caller, "chat")
	ended := make(chan error, 2)
	go func() { ended <- server.Shutdown(context.Background()) }()
	go func() { ended <- caller.Shutdown(context.Background()) }()
	for range 5 {
		require.NoError(t, tn.Send(t.Context(), []byte("still here")))
		m, err := tn.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, "still here", string(m))
		time.Sleep(5 * time.Millisecond)
	}
	require.Empty(t, ended)
	require.NoError(t, tn.Close())
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)

	p := newPlace(t)
	p.relay()
	stubborn := p.client()
	serveTunnels(t, p.node, "chat", echoes, patterns.Limits{})
	tn = open(t, stubborn, "chat")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, stubborn.Shutdown(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, tn.Err(), patterns.ErrClosed)
}
