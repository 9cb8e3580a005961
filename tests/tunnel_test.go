// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

func TestTunnelConnectsInputAndOutput(t *testing.T) {
	// This test checks arke tunnel with each kind of arke serve over two relays,
	// and the exit status of each way to end.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	b.Serves("echo", "--tunnel-echo")
	b.Serves("sort", "--tunnel-exec", "sort")
	b.Serves("first", "--tunnel-exec", "head -n 1")
	b.Serves("fails", "--tunnel-exec", "read line; echo no such $line >&2; exit 3")
	b.Serves("plain", "--echo")
	for _, cluster := range []string{"echo", "sort", "first", "fails", "plain"} {
		a.Sees(1, cluster)
	}
	a.Reads("hello", "tunnel", "echo").Gets("hello")
	a.Reads("", "tunnel", "echo").Gets("")
	large := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	got := a.Reads(large, "tunnel", "echo").Ends(0).Stdout
	require.True(t, got == large, "of %d bytes %d came back", len(large), len(got))
	// Commands that end while the caller is in the middle of a message.
	for range 5 {
		a.Reads("first\n"+large, "tunnel", "first").Gets("first\n")
		a.Reads("table\n"+large, "tunnel", "fails").Ends(2).Says("reset the tunnel (code 2): no such table")
	}
	a.Reads("pear\napple\n", "tunnel", "sort").Gets("apple\npear\n")
	a.Reads("table\n", "tunnel", "fails").Ends(2).Says("reset the tunnel (code 2): no such table")
	a.Reads("x", "tunnel", "nobody").Ends(3).Says("nobody serves nobody")
	a.Reads("x", "tunnel", "plain").Ends(2).Says("plain refused", "code 3")
}

func TestBrokenTunnelHasItsExitCode(t *testing.T) {
	// This test checks status 7 when the member's relay is killed, and when the
	// caller's own is; and status 1 after a signal.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	started := filepath.Join(harness.Folder(t), "started")
	b.Serves("slow", "--tunnel-exec", "touch "+started+"; sleep 600")
	a.Sees(1, "slow")
	open := func() *harness.Process {
		t.Helper()
		_ = os.Remove(started)
		p := harness.Command{Args: []string{"tunnel", "slow", "--socket", a.Socket()}}.Start(t, "")
		exists(t, started)
		return p
	}
	stopped := open()
	stopped.Interrupt()
	stopped.Ends(1)
	for _, r := range []*harness.Relay{b, a} {
		p := open()
		r.Kill()
		p.Ends(7)
		p.Tells("the link to the member of slow was lost")
		if r == b {
			r.Restart()
			a.Sees(1, "slow")
		}
	}
}

func TestACommandOfATunnelEndsInGoodOrder(t *testing.T) {
	// This test runs commands behind tunnels whose callers are slow, at the relay of the
	// member and at another one: every byte that a command has printed before its end
	// comes, also while arke serve drains, and every byte that a caller has written before
	// it closed reaches the command, which works on to its own end.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	const size = 1 << 20
	file := filepath.Join(harness.Folder(t), "got")
	print := fmt.Sprintf("head -c %d /dev/zero", size)
	b.Serves("prints", "--tunnel-exec", print)
	b.Serves("reads", "--tunnel-exec", "cat >/dev/null; "+print)
	b.Serves("keeps", "--tunnel-exec", "wc -c >"+file+".new; sleep 0.2; mv "+file+".new "+file)
	open := func(r *harness.Relay, cluster string) patterns.Tunnel {
		t.Helper()
		r.Sees(1, cluster)
		tunnel, err := r.Client().OpenTunnel(t.Context(), cluster, patterns.Message{})
		require.NoError(t, err)
		return tunnel
	}
	all := func(tunnel patterns.Tunnel) {
		t.Helper()
		var got int64
		for {
			time.Sleep(time.Millisecond) // a slow reader
			n, err := tunnel.ReceiveTo(t.Context(), io.Discard)
			got += n
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		require.EqualValues(t, size, got)
	}
	for _, r := range []*harness.Relay{a, b} {
		all(open(r, "prints"))
		half := open(r, "reads")
		require.NoError(t, half.Send(t.Context(), make([]byte, size)))
		require.NoError(t, half.CloseSend())
		all(half)
		_ = os.Remove(file)
		closed := open(r, "keeps")
		require.NoError(t, closed.Send(t.Context(), make([]byte, size)))
		require.NoError(t, closed.Close())
		exists(t, file)
		require.Equal(t, fmt.Sprint(size), strings.TrimSpace(read(t, file)))
	}
	leaves := b.Serves("leaves", "--tunnel-exec", print)
	last := open(a, "leaves")
	leaves.Interrupt()
	all(last)
	leaves.Ends(0)
}

// service is a TCP service of the test: it says its name, then sends back what
// comes, and says goodbye when the other side has ended.
type service struct {
	name   string
	l      *net.TCPListener
	conns  atomic.Int64 // that were made
	open   sync.WaitGroup
	mu     sync.Mutex
	active map[net.Conn]bool // guarded by mu
}

func newService(t *testing.T, name, addr string) *service {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	s := &service{name: name, l: l.(*net.TCPListener), active: map[net.Conn]bool{}}
	s.open.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *service) accept() {
	for {
		conn, err := s.l.AcceptTCP()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.active[conn] = true
		s.mu.Unlock()
		s.open.Go(func() { s.one(conn) })
	}
}

func (s *service) one(conn *net.TCPConn) {
	defer conn.Close()
	_, _ = io.WriteString(conn, s.name+"\n")
	if n, err := io.Copy(conn, conn); err == nil && n > 0 {
		s.conns.Add(1)
		_, _ = io.WriteString(conn, "bye")
	}
}

// stop ends the service and its connections. It is idempotent.
func (s *service) stop() {
	_ = s.l.Close()
	s.mu.Lock()
	for conn := range s.active {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.open.Wait()
}

func (s *service) addr() string { return s.l.Addr().String() }

// greeted connects and returns the name that the service says.
func greeted(port string) (*net.TCPConn, string, error) {
	conn, err := net.DialTimeout("tcp", port, 10*time.Second)
	if err != nil {
		return nil, "", err
	}
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	var name []byte
	for one := make([]byte, 1); ; name = append(name, one[0]) {
		if _, err := conn.Read(one); err != nil {
			conn.Close()
			return nil, "", err
		}
		if one[0] == '\n' {
			return conn.(*net.TCPConn), string(name), nil
		}
	}
}

// converses sends a text through a fresh connection and checks what comes.
func converses(port, text string) (name string, err error) {
	conn, name, err := greeted(port)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err == nil && string(got) != text+"bye" {
		err = errors.New("something else came back")
	}
	return name, err
}

// comesFrom converses, and checks who it was with.
func comesFrom(t *testing.T, port, name string) {
	t.Helper()
	who, err := converses(port, "hello")
	require.NoError(t, err)
	require.Equal(t, name, who)
}

// forwarded has each relay but the first one expose a service, called by these names, and
// returns the port beside the first one that leads to them.
func forwarded(t *testing.T, relays []*harness.Relay, names ...string) (port string, services []*service) {
	t.Helper()
	for i, name := range names {
		s := newService(t, name, "127.0.0.1:0")
		relays[1+i].Exposes("svc", s.addr())
		services = append(services, s)
	}
	relays[0].Sees(len(names), "svc")
	return relays[0].Forwards("svc").Said(), services
}

func TestForwardedPortLeadsToExposedServices(t *testing.T) {
	// This test checks arke expose and arke forward over three relays: many
	// connections at once, balanced over two services, and half-close, without
	// which the services would not say goodbye.
	scenario(t)
	port, services := forwarded(t, harness.NewNetwork(t).Relays(3), "one", "two")

	var clients sync.WaitGroup
	for i := range 40 {
		clients.Go(func() {
			if _, err := converses(port, strings.Repeat("0123456789", 1+i*997)); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	one, two := services[0].conns.Load(), services[1].conns.Load()
	require.True(t, one+two == 40 && one >= 5 && two >= 5, "%d and %d connections", one, two)
}

func TestKilledRelayResetsItsConnectionsAndOthersTakeOver(t *testing.T) {
	// This test checks kill -9 of one exposer's relay: its connections are reset
	// at once, those to the other service go on, and new ones go there.
	scenario(t)
	relays := harness.NewNetwork(t).Relays(3)
	port, _ := forwarded(t, relays, "one", "two")
	to := map[string]*net.TCPConn{}
	for len(to) < 2 {
		conn, name, err := greeted(port)
		require.NoError(t, err)
		defer conn.Close()
		to[name] = conn
	}
	relays[1].Kill()
	begin := time.Now()
	_, err := to["one"].Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET, "the connection through the killed relay")
	require.LessOrEqual(t, time.Since(begin), 10*time.Second)
	_, err = io.WriteString(to["two"], "still here")
	require.NoError(t, err)
	_, err = io.ReadFull(to["two"], make([]byte, 10))
	require.NoError(t, err)
	for range 10 {
		comesFrom(t, port, "two")
	}
}

func TestForwardSurvivesItsRelay(t *testing.T) {
	// This test checks that arke forward and arke expose work again when the
	// relay beside them was killed and is back.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	port, _ := forwarded(t, []*harness.Relay{a, b}, "one")
	comesFrom(t, port, "one")
	for _, r := range []*harness.Relay{b, a} {
		r.Kill()
		if r == a {
			r.Forget()
			r.Restart(harness.Seed(b))
		} else {
			r.Restart()
		}
		harness.Eventually(t, harness.Patience, "that the port leads to the service again", func() error {
			_, err := converses(port, "hello")
			return err
		})
	}
}

func TestServiceThatIsGoneIsNoMember(t *testing.T) {
	// This test checks that an exposed service leaves the cluster while nothing
	// listens there, and is back with it.
	scenario(t)
	relays := harness.NewNetwork(t).Relays(2)
	port, services := forwarded(t, relays, "one")
	services[0].stop()
	_, _, err := greeted(port)
	require.Error(t, err, "a service that is gone answered")
	relays[0].Sees(0, "svc")
	_, _, err = greeted(port)
	require.Error(t, err, "a cluster without members answered")
	newService(t, "again", services[0].addr())
	relays[0].Sees(1, "svc")
	comesFrom(t, port, "again")
}

func TestSignalLetsConnectionsEnd(t *testing.T) {
	// This test checks that SIGTERM stops new connections, and lets the one
	// that is open finish, on both sides.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	s := newService(t, "one", "127.0.0.1:0")
	expose := b.Exposes("svc", s.addr())
	a.Sees(1, "svc")
	forward := a.Forwards("svc")
	conn, _, err := greeted(forward.Said())
	require.NoError(t, err)
	defer conn.Close()
	forward.Interrupt()
	expose.Interrupt()
	a.Sees(0, "svc")
	harness.Eventually(t, harness.Patience, "that the port is closed", func() error {
		c, err := net.Dial("tcp", forward.Said())
		if err == nil {
			c.Close()
			return errors.New("it is not")
		}
		return nil
	})
	_, err = io.WriteString(conn, "last words")
	require.NoError(t, err)
	_ = conn.CloseWrite()
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "last wordsbye", string(got))
	for _, p := range []*harness.Process{forward, expose} {
		p.Ends(0)
	}
}

func TestAKilledProcessResetsItsConnections(t *testing.T) {
	// This test checks that the client of a connection whose forward or whose service's
	// expose is killed, or cut off by the end of its drain, sees a reset, and never an end
	// in good order, though the service would have had more to say.
	for name, end := range map[string]func(forward, expose *harness.Process){
		"forward":        func(forward, _ *harness.Process) { forward.Kill() },
		"expose":         func(_, expose *harness.Process) { expose.Kill() },
		"drain":          func(forward, _ *harness.Process) { forward.Interrupt(); forward.Interrupt() },
		"drain, exposed": func(_, expose *harness.Process) { expose.Interrupt(); expose.Interrupt() },
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t)
			a, b := together(harness.NewNetwork(t))
			s := newService(t, "one", "127.0.0.1:0")
			expose := b.Exposes("svc", s.addr())
			a.Sees(1, "svc")
			forward := a.Forwards("svc")
			conn, _, err := greeted(forward.Said())
			require.NoError(t, err)
			defer conn.Close()
			end(forward, expose)
			require.NoError(t, conn.SetDeadline(time.Now().Add(harness.Patience)))
			_, err = io.ReadAll(conn)
			require.ErrorIs(t, err, syscall.ECONNRESET)
		})
	}
}

func TestForwardWarnsWhenOthersCanReachIt(t *testing.T) {
	// This test checks the default address, the warning, and a port in use.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	start := func(listen ...string) *harness.Process {
		return harness.Command{Args: append([]string{"forward", "svc", "--socket", a.Socket()}, listen...)}.Start(t, "arke forward ready ")
	}
	quiet := start()
	require.Regexp(t, `^127\.0\.0\.1:`, quiet.Said(), "by default")
	require.NotContains(t, quiet.Log(), "warning")
	require.Regexp(t, `^127\.0\.0\.1:`, start("--listen", ":0").Said(), "without a host")
	open := start("--listen", "0.0.0.0:0")
	open.Tells("warning: " + open.Said() + " is not loopback: every program that reaches it can use svc without a key")
	require.Regexp(t, `^0\.0\.0\.0:`, open.Said())
	a.Does("forward", "svc", "--listen", quiet.Said()).Ends(1).Says("in use", "choose another address")
}
