// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/budget"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is what stands for TLS: it encrypts nothing, and writes through the queue.
type plain struct{ *QueuedConn }

func (p plain) Read(b []byte) (int, error) { return p.QueuedConn.Conn.Read(b) }

// over multiplexes a connection, and reads it whether or not anybody accepts.
func over(t testing.TB, c net.Conn, dialler bool) *Conn {
	out := NewQueuedConn(c, nil)
	m := New(plain{out}, out, dialler, budget.New[int](1<<30).Holding(0, 0, 1))
	var wg sync.WaitGroup
	wg.Go(func() { receive(m) })
	t.Cleanup(func() {
		_ = m.Close()
		wg.Wait()
	})
	return m
}

// receive reads a connection until its end, and accepts nothing.
func receive(m *Conn) {
	for {
		if _, err := m.receiver.lead(nil); err != nil {
			m.receiver.fail(err)
			return
		}
	}
}

// accepted returns the next stream that the peer has opened, on a connection that is
// read by receive.
func accepted(m *Conn) (*Stream, error) {
	select {
	case s := <-m.backlog:
		return s, nil
	case <-m.done:
		return nil, m.cause()
	}
}

// accepting multiplexes a connection that Accept reads, as swarm does: it returns what
// has come of each call.
func accepting(t testing.TB, c net.Conn, dialler bool) (*Conn, <-chan *Stream) {
	out := NewQueuedConn(c, nil)
	m := New(plain{out}, out, dialler, budget.New[int](1<<30).Holding(0, 0, 1))
	accepted := make(chan *Stream, maxBacklog)
	go func() {
		defer close(accepted)
		for {
			s, err := m.Accept()
			if err != nil {
				return
			}
			accepted <- s
		}
	}()
	t.Cleanup(func() {
		_ = m.Close()
		for range accepted {
		}
	})
	return m, accepted
}

// sockets returns both ends of a TCP connection.
func sockets(t testing.TB) (a, b net.Conn) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	a, err = net.Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	return a, <-accepted
}

// ends returns both ends of a multiplexed connection.
func ends(t testing.TB) (a, b *Conn) {
	x, y := sockets(t)
	return over(t, x, true), over(t, y, false)
}

// streams returns both ends of a stream.
func streams(t testing.TB, a, b *Conn, link bool) (from, to *Stream) {
	from = begun(t, a, link)
	to, err := accepted(b)
	require.NoError(t, err)
	require.Equal(t, link, to.Link())
	_, err = io.ReadFull(to, make([]byte, 2))
	require.NoError(t, err)
	return from, to
}

// begun opens a stream, and writes to it: its peer hears of it only then.
func begun(t testing.TB, a *Conn, link bool) *Stream {
	s, err := a.open(link)
	require.NoError(t, err)
	_, err = s.Write([]byte("hi"))
	require.NoError(t, err)
	return s
}

// driven has one end of a stream read all that comes, and returns once it leads its
// connection; from is the other end.
func driven(t testing.TB, from, to *Stream) (over <-chan error) {
	read := make(chan error, 1)
	go func() {
		to.Drive(true)
		defer to.Drive(false)
		_, err := io.Copy(io.Discard, struct{ io.Reader }{to})
		read <- err
	}()
	for leads := false; !leads; { // a byte is read by who leads
		_, err := from.Write([]byte("x"))
		require.NoError(t, err)
		to.conn.mu.Lock()
		leads = to.conn.lead == to
		to.conn.mu.Unlock()
	}
	return read
}

// This test checks that many streams, one of which drives, carry everything in both
// directions at once, each in its order and whole.
func TestStreamsDoNotMix(t *testing.T) {
	t.Run("a goroutine reads", func(t *testing.T) {
		a, b := ends(t)
		doNotMix(t, func(link bool) (from, to *Stream) { return streams(t, a, b, link) })
	})
	t.Run("Accept reads", func(t *testing.T) {
		x, y := sockets(t)
		a, _ := accepting(t, x, true)
		_, accepted := accepting(t, y, false)
		doNotMix(t, func(link bool) (from, to *Stream) {
			from, to = begun(t, a, link), <-accepted
			_, err := io.ReadFull(to, make([]byte, 2))
			require.NoError(t, err)
			return from, to
		})
	})
}

func doNotMix(t *testing.T, open func(link bool) (from, to *Stream)) {
	var wg sync.WaitGroup
	sums := make(chan [sha256.Size]byte, 100)
	for i := range 9 {
		from, to := open(i == 0)
		for side, s := range []*Stream{from, to} {
			wg.Go(func() { sums <- send(t, s, uint64(2*i+side)) })
			wg.Go(func() {
				if i == 0 {
					s.Drive(true)
					defer s.Drive(false)
				}
				h := sha256.New()
				if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{s}, make([]byte, 5000)); err != nil {
					t.Error(err)
				}
				sums <- [sha256.Size]byte(h.Sum(nil))
			})
		}
	}
	wg.Wait()
	close(sums)
	count := make(map[[sha256.Size]byte]int)
	for s := range sums {
		count[s]++
	}
	require.Len(t, count, 18)
	for _, n := range count {
		require.Equal(t, 2, n, "sent once, read once")
	}
}

// send writes pieces of all sizes and ends the stream.
func send(t *testing.T, s *Stream, seed uint64) [sha256.Size]byte {
	rng := rand.New(rand.NewPCG(1, seed))
	h := sha256.New()
	for range 60 {
		n := rng.IntN(30)
		if rng.IntN(8) == 0 {
			n = rng.IntN(600 << 10)
		}
		p := bytes.Repeat([]byte{byte(rng.Uint32())}, n)
		h.Write(p)
		cut := rng.IntN(n + 1)
		if _, err := s.WriteAll(n, p[:cut], p[cut:]); err != nil {
			t.Error(err)
		}
	}
	if err := s.CloseWrite(); err != nil {
		t.Error(err)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// This test checks that a driver which is reset, closed, or timed out while it waits
// gives the lead back: other streams go on.
func TestADriverThatEndsGivesTheLeadBack(t *testing.T) {
	for name, end := range map[string]func(from, to *Stream){
		"reset":           func(_, to *Stream) { _ = to.Reset() },
		"close":           func(_, to *Stream) { _ = to.Close() },
		"reset by peer":   func(from, _ *Stream) { _ = from.Reset() },
		"end of the peer": func(from, _ *Stream) { _ = from.CloseWrite() },
		"deadline":        func(_, to *Stream) { _ = to.SetReadDeadline(time.Now().Add(time.Millisecond)) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := ends(t)
			from, to := streams(t, a, b, true)
			over := driven(t, from, to)
			other, otherTo := streams(t, a, b, false)
			end(from, to)
			<-over
			for range 3 {
				_, err := other.Write([]byte("y"))
				require.NoError(t, err)
				_, err = io.ReadFull(otherTo, make([]byte, 1))
				require.NoError(t, err)
			}
		})
	}
}

// This test checks that bytes which came before the connection's end can be read
// after it, and then its cause.
func TestWhatCameBeforeTheEndIsRead(t *testing.T) {
	a, b := ends(t)
	from, to := streams(t, a, b, true)
	_, err := from.Write(make([]byte, 100_000))
	require.NoError(t, err)
	a.GoAway()
	<-b.Done()
	<-a.Done()
	got, err := io.ReadAll(to)
	require.Len(t, got, 100_000)
	var gone *network.ConnError
	require.ErrorAs(t, err, &gone)
	require.True(t, gone.Remote)
}

// This test checks that a peer which reads nothing stops its writer, whose deadline
// works, and costs this side a bounded amount of memory whatever it sends.
func TestAPeerThatNeverReads(t *testing.T) {
	x, y := sockets(t)
	m := over(t, x, true)
	defer y.Close()
	s, err := m.OpenLink()
	require.NoError(t, err)
	require.NoError(t, s.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	for err == nil {
		_, err = s.Write(make([]byte, 64<<10))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.LessOrEqual(t, m.out.load(), uint64(300<<10))
	ping := head{kindPing, 0, 1}.append(nil)
	for !m.IsClosed() { // each wants an answer
		if _, err := y.Write(bytes.Repeat(ping, 1000)); err != nil {
			break
		}
		require.LessOrEqual(t, m.out.load(), uint64(maxUnsent+1<<20))
	}
	<-m.Done()
	require.ErrorContains(t, m.cause(), "takes nothing")
	_, err = s.Write([]byte{1})
	require.Error(t, err)
}

// This test checks that what a peer may not do ends the connection, and that what it
// may do at most is kept.
func TestLiarsAreCutOff(t *testing.T) {
	open := head{kindOpen, 1, 1}.append(nil)
	data := func(id, n uint32) []byte { return head{kindData, id, n}.append(nil) }
	for name, bytes := range map[string][]byte{
		"kind 0":               head{0, 1, 1}.append(nil),
		"unknown kind":         head{kindCount, 1, 1}.append(nil),
		"stream of our own":    head{kindOpen, 2, 0}.append(nil),
		"opened twice":         append(open, open...),
		"unknown stream":       data(3, 5),
		"stream not opened":    append(open, data(2, 5)...),
		"data of none":         data(0, 5),
		"no data":              append(open, data(1, 0)...),
		"more than allowed":    append(open, data(1, linkWindow+1)...),
		"all there is":         append(open, data(1, 1<<32-1)...),
		"credit without bound": append(open, append(head{kindCredit, 1, 1 << 31}.append(nil), head{kindCredit, 1, 1 << 31}.append(nil)...)...),
		"ping of a stream":     head{kindPing, 1, 0}.append(nil),
		"end with a number":    append(open, head{kindEnd, 1, 7}.append(nil)...),
		"data after the end":   append(open, append(head{kindEnd, 1, 0}.append(nil), data(1, 1)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			x, y := sockets(t)
			defer x.Close()
			m := over(t, y, false)
			_, err := x.Write(bytes)
			require.NoError(t, err)
			<-m.Done()
			require.ErrorIs(t, m.cause(), ErrProtocol)
		})
	}
}

// This test checks that a frame which is cut anywhere is an unexpected end, and that
// what was whole before it arrived.
func TestAFrameCutAnywhere(t *testing.T) {
	whole := append(head{kindOpen, 1, 1}.append(nil), head{kindData, 1, 4}.append(nil)...)
	whole = append(append(whole, "abcd"...), head{kindData, 1, 4}.append(nil)...)
	whole = append(whole, "efgh"...)
	for cut := range whole {
		for _, drive := range []bool{false, true} {
			x, y := sockets(t)
			m := over(t, y, false)
			_, err := x.Write(whole[:cut])
			require.NoError(t, err)
			require.NoError(t, x.(*net.TCPConn).CloseWrite())
			s, err := accepted(m)
			if cut < headSize {
				require.Error(t, err)
				continue
			}
			if err != nil { // the end was faster
				continue
			}
			if drive {
				s.Drive(true)
			}
			got, err := io.ReadAll(struct{ io.Reader }{s})
			require.Error(t, err)
			if drive {
				s.Drive(false)
			}
			require.True(t, bytes.HasPrefix([]byte("abcdefgh"), got), "%q", got)
			x.Close()
		}
	}
}

// This test checks that Accept, which reads, gives up the lead to the link's reader, returns
// streams that come meanwhile, and reads on when the link has ended.
func TestAcceptReadsWhatNoLinkDoes(t *testing.T) {
	x, y := sockets(t)
	a, _ := accepting(t, x, true)
	b, accepted := accepting(t, y, false)
	open := func(link bool) (from, to *Stream) {
		from, to = begun(t, a, link), <-accepted
		require.Equal(t, link, to.Link())
		return from, to
	}
	for range 3 {
		from, to := open(true)
		read := driven(t, from, to)
		_, plain := open(false)
		got := make([]byte, 2)
		_, err := io.ReadFull(plain, got)
		require.NoError(t, err)
		<-a.Ping()
		require.NoError(t, from.CloseWrite())
		require.NoError(t, <-read)
		require.NoError(t, to.Close())
		<-a.Ping() // Accept reads again
	}
	require.NoError(t, a.Close())
	<-b.Done()
	_, more := <-accepted
	require.False(t, more, "Accept returns with the end of the connection")
}

// This test checks that streams beyond the bounds are reset, and only they.
func TestStreamsAreBounded(t *testing.T) {
	a, b := ends(t)
	var open []*Stream
	for range maxBacklog + 1 {
		open = append(open, begun(t, a, false))
	}
	last := open[maxBacklog]
	_, err := last.Read(make([]byte, 1))
	var reset *network.StreamError
	require.ErrorAs(t, err, &reset)
	require.Equal(t, network.StreamResourceLimitExceeded, reset.ErrorCode)
	for range maxBacklog {
		s, err := accepted(b)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	for _, s := range open {
		_ = s.Close() // the last was reset
	}
	require.Eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(a.streams)+len(b.streams)+b.accepted+a.closed+b.closed == 0
	}, 10*time.Second, time.Millisecond, "nothing is remembered of what is over")
}

// This test checks that a peer that neither says anything nor answers is given up
// after 25 s, and one that answers is not.
func TestASilentPeerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		silent := over(t, x, true)
		go func() { _, _ = io.Copy(io.Discard, y) }()
		p, q := net.Pipe()
		alive, other := over(t, p, true), over(t, q, false)
		begun := time.Now()
		<-silent.Done()
		require.InDelta(t, closeAfter.Seconds(), time.Since(begun).Seconds(), 5)
		time.Sleep(time.Hour)
		require.False(t, alive.IsClosed())
		<-alive.Ping()
		_ = other.Close()
		y.Close()
		synctest.Wait()
		require.True(t, alive.IsClosed())
	})
}

// This test checks that a try never waits: it does nothing while what was written
// before is under way, and everything otherwise.
func TestATryNeverWaits(t *testing.T) {
	x, y := sockets(t)
	m := over(t, x, true)
	s, err := m.OpenLink()
	require.NoError(t, err)
	tried := 0
	for { // nobody reads
		done, err := s.TryWrite(64<<10, make([]byte, 64<<10))
		require.NoError(t, err)
		if !done {
			break
		}
		tried++
	}
	n := over(t, y, false)
	to, err := accepted(n)
	require.NoError(t, err)
	go func() {
		_, _ = s.Write([]byte("end")) // waits for the rest
		_ = s.CloseWrite()
	}()
	got, err := io.ReadAll(to)
	require.NoError(t, err)
	require.Len(t, got, tried*64<<10+3)
	require.NoError(t, s.Reset())
	_, err = s.TryWrite(1, []byte{1})
	require.Error(t, err)
}

// FuzzConn checks that no bytes of a peer make this side panic, hang, or keep more
// than it may.
func FuzzConn(f *testing.F) {
	open := head{kindOpen, 1, 1}.append(nil)
	f.Add(append(append(open, head{kindData, 1, 3}.append(nil)...), "abc"...))
	f.Add(append(open, head{kindReset, 1, 3}.append(nil)...))
	f.Add(head{kindGoAway, 0, 3}.append(nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		var wg sync.WaitGroup
		out := NewQueuedConn(&script{in: bytes.NewReader(in), over: make(chan struct{})}, nil)
		m := New(plain{out}, out, false, budget.New[int](1<<30).Holding(0, 0, 1))
		accept := m.Accept
		if len(in)%2 == 0 {
			wg.Go(func() { receive(m) })
			accept = func() (*Stream, error) { return accepted(m) }
		}
		for {
			s, err := accept()
			if err != nil {
				break
			}
			wg.Go(func() {
				s.Drive(s.Link())
				_, _ = io.Copy(io.Discard, struct{ io.Reader }{s})
				s.Drive(false)
				_ = s.Close()
			})
		}
		_ = m.Close()
		wg.Wait()
		require.LessOrEqual(t, len(m.streams), maxStreams+maxClosed)
	})
}

// script is a connection that says what it was told to, and takes everything.
type script struct {
	net.Conn
	in   *bytes.Reader
	once sync.Once
	over chan struct{}
}

func (s *script) Read(p []byte) (int, error) {
	if n, _ := s.in.Read(p); n > 0 {
		return n, nil
	}
	return 0, errors.New("no more")
}
func (s *script) Write(p []byte) (int, error)     { return len(p), nil }
func (s *script) SetReadDeadline(time.Time) error { return nil }
func (s *script) Close() error                    { s.once.Do(func() { close(s.over) }); return nil }
