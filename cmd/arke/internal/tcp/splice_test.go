// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/cmd/arke/internal/fake"
	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
	"github.com/arke-mesh/arke/patterns"
)

// stage is a client and a server whose connections meet through a tunnel.
type stage struct {
	client, server *net.TCPConn
	caller, member *fake.Tunnel
	near, far      chan error // what Splice returned on either side
	cut            context.CancelFunc
}

func newStage(t *testing.T, credit int) *stage {
	s := &stage{near: make(chan error, 1), far: make(chan error, 1)}
	var left, right *net.TCPConn
	s.client, left = wire(t)
	s.server, right = wire(t)
	s.caller, s.member = fake.Pair(credit)
	ctx, cut := context.WithCancel(context.Background())
	s.cut = cut
	splicer := &tcp.Splicer{}
	go func() { s.near <- splicer.Splice(ctx, left, s.caller) }()
	go func() { s.far <- splicer.Splice(context.Background(), right, s.member) }()
	t.Cleanup(func() {
		cut()
		_ = s.client.Close()
		_ = s.server.Close()
	})
	return s
}

// ends waits for both sides and returns what they said.
func (s *stage) ends(t *testing.T) (near, far error) {
	t.Helper()
	for _, side := range []struct {
		from chan error
		to   *error
	}{{s.near, &near}, {s.far, &far}} {
		select {
		case *side.to = <-side.from:
		case <-time.After(patience):
			t.Fatal("Splice did not return")
		}
	}
	return near, far
}

// endsWell checks that both sides ended in good order.
func (s *stage) endsWell(t *testing.T) {
	t.Helper()
	near, far := s.ends(t)
	require.NoError(t, near)
	require.NoError(t, far)
}

// sides are who acts first, and to whom.
var sides = map[string]func(*stage) (from, to *net.TCPConn){
	"client": func(s *stage) (from, to *net.TCPConn) { return s.client, s.server },
	"server": func(s *stage) (from, to *net.TCPConn) { return s.server, s.client },
}

func TestBothDirectionsEndOneAfterTheOther(t *testing.T) {
	// This test checks half-close from either side: the end of one direction
	// reaches the other side, which still answers; only its own end completes the
	// connection.
	for first, ends := range sides {
		t.Run(first+" first", func(t *testing.T) {
			s := newStage(t, 1<<16)
			from, to := ends(s)
			writes(t, from, "question")
			reads(t, to, "question")
			writes(t, from, "last words")
			require.NoError(t, from.CloseWrite())
			rest, err := io.ReadAll(to)
			require.NoError(t, err)
			require.Equal(t, "last words", string(rest))
			writes(t, to, "answer")
			reads(t, from, "answer")
			writes(t, to, "late")
			require.NoError(t, to.Close())
			rest, err = io.ReadAll(from)
			require.NoError(t, err)
			require.Equal(t, "late", string(rest))
			s.endsWell(t)
		})
	}
}

func TestResetReachesTheOtherConnection(t *testing.T) {
	// This test checks that a reset on either side is one on the other side,
	// even where that side has ended its own direction and is silent.
	for name, half := range map[string]bool{"both directions open": false, "one direction ended": true} {
		for end, ends := range sides {
			t.Run(end+", "+name, func(t *testing.T) {
				s := newStage(t, 1<<16)
				from, to := ends(s)
				writes(t, from, "x")
				reads(t, to, "x")
				if half {
					require.NoError(t, to.CloseWrite())
					_, err := io.ReadAll(from)
					require.NoError(t, err)
				}
				require.NoError(t, from.SetLinger(0))
				require.NoError(t, from.Close())
				_, err := to.Read(make([]byte, 1))
				require.ErrorIs(t, err, syscall.ECONNRESET)
				near, far := s.ends(t)
				require.Error(t, near)
				require.Error(t, far)
				require.Condition(t, func() bool { return wasReset(near) != wasReset(far) }, "one side is told by the other: %v, %v", near, far)
			})
		}
	}
}

func wasReset(err error) bool {
	var reset *patterns.TunnelError
	return errors.As(err, &reset)
}

func TestLostNodeResetsBothConnections(t *testing.T) {
	// This test checks that neither side takes a broken tunnel for an end in
	// good order.
	s := newStage(t, 1<<16)
	writes(t, s.client, "x")
	reads(t, s.server, "x")
	s.caller.Lose()
	for _, conn := range []*net.TCPConn{s.client, s.server} {
		_, err := conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
	near, far := s.ends(t)
	require.ErrorIs(t, near, patterns.ErrInterrupted)
	require.ErrorIs(t, far, patterns.ErrInterrupted)
}

func TestCutEndsASilentConnection(t *testing.T) {
	// This test checks that Splice returns when its context ends, though
	// nothing moves.
	s := newStage(t, 1<<16)
	s.cut()
	near, far := s.ends(t)
	require.ErrorIs(t, near, context.Canceled)
	require.Error(t, far)
	_, err := s.server.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestSlowReaderStopsTheWriter(t *testing.T) {
	// This test checks back-pressure: what a writer can push towards a reader
	// that does not read is bounded by the buffers on the way, and all of it
	// comes in the end.
	s := newStage(t, 64<<10)
	for _, conn := range []*net.TCPConn{s.client, s.server} {
		require.NoError(t, conn.SetDeadline(time.Time{}))
	}
	const total = 64 << 20
	var written atomic.Int64
	sent := make(chan [sha256.Size]byte, 1)
	go func() {
		source, sum := rand.NewChaCha8([32]byte{1}), sha256.New()
		piece := make([]byte, 100_000)
		for left := total; left > 0; {
			n := min(left, len(piece))
			_, _ = source.Read(piece[:n])
			sum.Write(piece[:n])
			if _, err := s.client.Write(piece[:n]); err != nil {
				break
			}
			left -= n
			written.Add(int64(n))
		}
		_ = s.client.CloseWrite()
		sent <- [sha256.Size]byte(sum.Sum(nil))
	}()
	last := int64(-1)
	soon(t, "the writer stops", func() bool {
		<-time.After(50 * time.Millisecond)
		before := last
		last = written.Load()
		return last == before && last > 0
	})
	require.Less(t, last, int64(total/2))

	sum := sha256.New()
	n, err := io.Copy(sum, s.server)
	require.NoError(t, err)
	require.EqualValues(t, total, n)
	want := <-sent
	require.True(t, bytes.Equal(want[:], sum.Sum(nil)))
	require.NoError(t, s.server.Close())
	s.endsWell(t)
}

func TestMessageOfAnySizeIsWritten(t *testing.T) {
	// This test checks the other side's freedom: a member that is not ours may
	// send empty messages and ones of many megabytes.
	near, conn := wire(t)
	caller, member := fake.Pair(32 << 20)
	done := make(chan error, 1)
	go func() { done <- (&tcp.Splicer{}).Splice(t.Context(), conn, caller) }()
	large := bytes.Repeat([]byte("large"), 1<<20)
	go func() {
		_ = member.Send(context.Background(), nil)
		_ = member.Send(context.Background(), large)
		_ = member.CloseSend()
	}()
	got, err := io.ReadAll(near)
	require.NoError(t, err)
	require.True(t, bytes.Equal(large, got))
	require.NoError(t, near.Close())
	require.NoError(t, <-done)
}

func TestMemberThatTakesNothingMoreEndsTheConnection(t *testing.T) {
	// This test checks that a client that would wait for ever is let go when
	// the member has closed the tunnel in good order.
	near, conn := wire(t)
	caller, member := fake.Pair(1 << 16)
	done := make(chan error, 1)
	go func() { done <- (&tcp.Splicer{}).Splice(t.Context(), conn, caller) }()
	require.NoError(t, member.Send(t.Context(), []byte("bye")))
	require.NoError(t, member.CloseSend())
	got, err := io.ReadAll(near)
	require.NoError(t, err)
	require.Equal(t, "bye", string(got))
	// The far node tells in good order that both directions are over.
	require.NoError(t, caller.CloseSend())
	require.NoError(t, <-done)
	_, err = near.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestWhatAServiceSaysBeforeItResetsArrives(t *testing.T) {
	// This test has a service answer with more than one credit, and reset the connection
	// before it has read what its client still sends. The answer comes, but for what the
	// reset overtakes: at most one credit.
	service, conn := wire(t)
	caller, member := fake.Pair(64 << 10)
	done := make(chan error, 1)
	go func() { done <- (&tcp.Splicer{}).Splice(t.Context(), conn, member) }()
	answer := bytes.Repeat([]byte("answer"), 30_000)
	require.NoError(t, caller.Send(t.Context(), []byte("question")))
	_, err := service.Write(answer)
	require.NoError(t, err)
	reads(t, service, "q")
	soon(t, "the answer has left the service's socket", func() bool { return unsent(t, service) == 0 })
	require.NoError(t, service.Close()) // with bytes unread, which resets it
	// More is sent, and can't be written: until the answer is out, that is no end.
	for range 10 {
		_ = caller.TrySend(make([]byte, 1000))
		<-time.After(10 * time.Millisecond)
	}
	var got []byte
	for {
		body, err := caller.Receive(t.Context())
		if err != nil {
			require.True(t, wasReset(err), err)
			break
		}
		got = append(got, body...)
	}
	require.GreaterOrEqual(t, len(got), len(answer)-64<<10)
	require.Error(t, <-done)
}

// unsent is how many bytes of what was written the peer's kernel has not acknowledged: a
// reset drops them.
func unsent(t *testing.T, conn *net.TCPConn) (n int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }))
	require.NoError(t, err)
	return n
}

func TestAnAnswerIsWholeThoughTheMemberTakesNothingMore(t *testing.T) {
	// This test has a member answer and close while the client still sends: the client
	// reads the answer and its end, not a reset.
	client, conn := wire(t)
	caller, member := fake.Pair(64 << 10)
	done := make(chan error, 1)
	go func() { done <- (&tcp.Splicer{}).Splice(t.Context(), conn, caller) }()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 64 {
			if _, err := client.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
		_ = client.CloseWrite()
	}()
	answer := bytes.Repeat([]byte("answer"), 10_000)
	require.NoError(t, member.Send(t.Context(), answer))
	require.NoError(t, member.CloseSend())
	soon(t, "the client is stopped", func() bool { <-time.After(50 * time.Millisecond); return true })
	require.NoError(t, member.Close())
	<-sent
	got, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Equal(t, string(answer), string(got))
	require.NoError(t, <-done)
}

func TestAnAnswerArrivesThatComesBeforeAllWasSent(t *testing.T) {
	// This test has a member answer and close while the client is still sending, and
	// the client read slowly: it reads the whole answer.
	client, conn := wire(t)
	caller, member := fake.Pair(64 << 10)
	near := make(chan error, 1)
	go func() { near <- (&tcp.Splicer{}).Splice(context.Background(), conn, caller) }()
	go func() {
		for {
			if _, err := client.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	_, err := member.Receive(t.Context())
	require.NoError(t, err)
	const answer = 8 << 20
	go func() {
		for range answer >> 20 {
			_ = member.Send(context.Background(), make([]byte, 1<<20))
		}
		_ = member.Close()
	}()
	got, buf := 0, make([]byte, 64<<10)
	for got < answer {
		n, err := client.Read(buf)
		require.NoError(t, err, got)
		got += n
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, client.Close())
	<-near
}
