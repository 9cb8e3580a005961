// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
)

// childNetwork names the network file with which this binary, run again, is
// nothing but a host. See runChild.
const childNetwork = "ARKE_P2P_TEST_CHILD"

// runChild is a host in a process of its own: it prints who and where it is,
// and echoes streams until its standard input ends.
func runChild(file string) error {
	parsed, err := security.ReadNetworkFile(file)
	if err != nil {
		return err
	}
	network, err := security.NewNetwork(parsed)
	if err != nil {
		return err
	}
	key, err := security.GenerateNodeKey(rand.Reader)
	if err != nil {
		return err
	}
	h, err := p2p.New(p2p.Config{Key: key, Network: network, Listen: []string{"127.0.0.1:0"}})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Start(echoHandler{}); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(childSays{h.Self().String(), h.Addrs()}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

type childSays struct {
	Peer  string
	Addrs []string
}

type echoHandler struct{}

func (echoHandler) HandleStream(s overlay.Stream) {
	go func() {
		defer s.Close()
		_, _ = io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{s})
	}()
}
func (echoHandler) PeerUp(peer.ID)              {}
func (echoHandler) PeerDown(peer.ID)            {}
func (echoHandler) Certificate() []byte         { return nil }
func (echoHandler) Routes(peer.ID, []byte) bool { return true }

// startChild runs a host in a process of its own.
func startChild(t *testing.T) (c *exec.Cmd, network *security.Network, candidate overlay.Candidate) {
	t.Helper()
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	path := t.TempDir() + "/network"
	require.NoError(t, security.WriteNetworkFile(path, file))
	network, err = security.NewNetwork(file)
	require.NoError(t, err)

	c = exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childNetwork+"="+path)
	c.Stderr = os.Stderr
	_, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var says childSays
	require.NoError(t, json.NewDecoder(strings.NewReader(line)).Decode(&says))
	p, err := peer.Decode(says.Peer)
	require.NoError(t, err)
	return c, network, overlay.Candidate{Peer: p, Addrs: says.Addrs}
}

// This test checks that the end of a killed process is reported when its
// connection breaks, which takes milliseconds, not when it has not answered for
// long, and that its streams break.
func TestKilledPeerIsReportedWhenItsConnectionBreaks(t *testing.T) {
	child, network, candidate := startChild(t)
	n := start(t, network)
	s, err := n.Open(within(t), candidate.Peer, candidate.Addrs)
	require.NoError(t, err)
	_, err = s.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(s, make([]byte, 1))
	require.NoError(t, err)
	n.want(true, candidate.Peer)

	begun := time.Now()
	require.NoError(t, child.Process.Kill())
	n.want(false, candidate.Peer)
	t.Logf("reported after %v", time.Since(begun))
	_, err = s.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF)
	require.NotContains(t, err.Error(), "timeout")
	_, err = s.Write(make([]byte, 1))
	require.Error(t, err)
	require.NoError(t, s.Close())
}

// This test checks that a peer is reported down and up again when it is lost
// and comes back, and can be dialled at once although a dial has failed
// meanwhile.
func TestPeerThatComesBackIsDialledAtOnce(t *testing.T) {
	network, key := p2p.NewNetwork(t), p2p.NewKey(t)
	a := start(t, network)
	// An address of its own: elsewhere somebody might take the port meanwhile.
	b := start(t, network, listen("127.0.77.1:0"), func(c *p2p.Config) { c.Key = key })
	at := b.Addrs()
	connect(t, a, b)
	require.NoError(t, b.Close())
	a.want(false, b.Self())
	_, err := a.Connect(within(t), overlay.Candidate{Peer: b.Self(), Addrs: at})
	require.Error(t, err)

	again := start(t, network, listen(at...), func(c *p2p.Config) { c.Key = key })
	// A failed dial of kad-dht's that is just ending may be shared.
	for ctx := within(t); err != nil; time.Sleep(time.Millisecond) {
		require.NotContains(t, err.Error(), "backoff")
		require.NoError(t, ctx.Err())
		_, err = a.Connect(ctx, overlay.Candidate{Peer: b.Self(), Addrs: at})
	}
	a.want(true, again.Self())
}

// This test checks that Disconnect ends the connection at both ends, and that
// the next Open makes another one.
func TestDisconnectEndsTheConnection(t *testing.T) {
	a, b := two(t)
	from, to := pair(t, a, b)
	a.want(true, b.Self())
	b.want(true, a.Self())
	a.Disconnect(b.Self())
	a.want(false, b.Self())
	b.want(false, a.Self())
	for _, s := range []overlay.Stream{from, to} {
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
	}
	pair(t, a, b)
	a.want(true, b.Self())
	b.want(true, a.Self())
}

// This test checks that two nodes that dial each other at the same moment both
// get a working stream, and hear of one peer once.
func TestSimultaneousDialsWork(t *testing.T) {
	network := p2p.NewNetwork(t)
	for range 10 {
		a, b := start(t, network), start(t, network)
		var wg sync.WaitGroup
		for _, x := range [][2]*node{{a, b}, {b, a}} {
			wg.Go(func() {
				s, err := x[0].Open(within(t), x[1].Self(), x[1].Addrs())
				if err == nil {
					_, err = fmt.Fprint(s, "hi")
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, n := range []*node{a, b} {
			_, err := io.ReadFull(n.accept(), make([]byte, 2))
			require.NoError(t, err)
		}
		a.want(true, b.Self())
		b.want(true, a.Self())
		a.quiet()
		b.quiet()
	}
}

// This test checks that what was written before Close arrives whole, and then
// its end: a reset would throw it away on both sides.
func TestCloseDeliversWhatWasWritten(t *testing.T) {
	network := p2p.NewNetwork(t)
	for range 5 {
		a, b := start(t, network, patient), start(t, network)
		from, to := pair(t, a, b)
		data := make([]byte, 700<<10)
		_, err := from.Write(data)
		require.NoError(t, err)
		require.NoError(t, from.CloseWrite())
		require.NoError(t, a.Close())
		got, err := io.ReadAll(to)
		require.NoError(t, err)
		require.Len(t, got, len(data))
	}
}

// This test checks that a peer that takes nothing, not even what it is asked, delays
// Close by a bounded time only.
func TestCloseDoesNotWaitForHungPeers(t *testing.T) {
	a, b := two(t)
	g := newGate(t, b.Addrs()[0])
	from, _ := pair(t, a, b, g.addr)
	settle(t, a, b)
	g.pause()
	fill(t, from)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := a.Router().Closest(ctx, overlay.Key{9}, 3) // which asks the other one
	require.ErrorIs(t, err, context.DeadlineExceeded)
	begun := time.Now()
	require.NoError(t, a.Close())
	require.Less(t, time.Since(begun), 4*time.Second, "identify alone would wait for 5 s")
}

// fill writes until nothing is taken any more.
func fill(t *testing.T, s overlay.Stream) (written int) {
	t.Helper()
	for {
		require.NoError(t, s.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		n, err := s.Write(make([]byte, 64<<10))
		written += n
		if err != nil {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			return written
		}
	}
}
