// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that subscriptions come back with the relay, without the
// program's doing, that it is told that nobody knows what it missed, and that
// those that were closed do not come back.
func TestSubscriptionsComeBackWithTheRelay(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	var a, b listener
	subscribe(t, c, "a", &a, patterns.SubscribeOptions{})
	closed := subscribe(t, c, "b", &b, patterns.SubscribeOptions{})
	require.NoError(t, closed.Close(t.Context()))
	publish(t, p.node, "a", 1, 3)
	eventually(t, func() bool { return len(a.all()) == 3 }, "not all came")
	for i := range 3 {
		require.NoError(t, r.Close())
		require.Empty(t, p.node.Subscriptions())
		r = p.relay()
		eventually(t, func() bool { return len(p.node.Subscriptions()) == 1 }, "it does not come back")
		publish(t, p.node, "a", i+4, i+4)
		eventually(t, func() bool { return len(a.all()) == i+4 }, "nothing comes")
		require.Len(t, a.missed(), i+1)
		require.Equal(t, patterns.Gap{Reason: patterns.GapRelay}, a.missed()[i])
	}
	require.Equal(t, []string{"a"}, p.node.Subscriptions())
}

// This test checks that a relay which does not take the subscription at first
// is asked again.
func TestASubscriptionThatIsRefusedIsTriedAgain(t *testing.T) {
	p := newPlace(t)
	var refuse atomic.Int32
	p.node.SubscribeError = func(string) error {
		if refuse.Add(-1) >= 0 {
			return patterns.ErrUnreachable
		}
		return nil
	}
	r := p.relay()
	c := p.client()
	subscribe(t, c, "a", &listener{}, patterns.SubscribeOptions{})
	refuse.Store(3)
	require.NoError(t, r.Close())
	p.relay()
	eventually(t, func() bool { return len(p.node.Subscriptions()) == 1 }, "it does not come back")
}

// wire stands between clients and a relay, and can be cut.
type wire struct {
	l     net.Listener
	to    string
	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

func newWire(t *testing.T, to string) (*wire, string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "w")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	w := &wire{l: l, to: to}
	w.wg.Go(w.run)
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.wg.Wait()
	})
	return w, socket
}

func (w *wire) run() {
	for {
		in, err := w.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", w.to)
		if err != nil {
			in.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		for _, ends := range [][2]net.Conn{{in, out}, {out, in}} {
			w.wg.Go(func() {
				io.Copy(ends[0], ends[1])
				ends[0].Close()
				ends[1].Close()
			})
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

// This test checks that a client whose connections break again and again under
// load, while its relay lives, is told exactly what it missed each time.
func TestDeliveredAndMissedIsWhatWasSent(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) { cfg.Limits.QueueBytes = 1 << 16 }
	p.relay()
	w, socket := newWire(t, p.socket)
	c, err := client.New(client.Config{Socket: socket})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Close() })
	var l listener
	s := subscribe(t, c, "a", &l, patterns.SubscribeOptions{})
	const rounds, each = 5, 5000
	sent := 0
	for range rounds {
		var wg sync.WaitGroup
		wg.Go(func() { publish(t, p.node, "a", sent+1, sent+each) })
		time.Sleep(time.Millisecond)
		w.cut()
		wg.Wait()
		sent += each
		eventually(t, func() bool {
			status := s.Status()
			return status.Delivered+status.Missed == uint64(sent)
		}, "delivered and missed is not what was sent")
	}
	publish(t, p.node, "a", sent+1, sent+1)
	eventually(t, func() bool {
		got := l.all()
		return len(got) > 0 && got[len(got)-1] == run(sent+1, sent+1)[0]
	}, "the last one does not come")
	status := s.Status()
	require.Equal(t, uint64(sent+1), status.Delivered+status.Missed)
	t.Logf("%d delivered, %d missed, %d gaps", status.Delivered, status.Missed, len(l.missed()))
	for _, g := range l.missed() {
		require.True(t, g.Exact)
		require.Contains(t, []patterns.GapReason{patterns.GapRelay, patterns.GapSlow}, g.Reason)
	}
	require.Equal(t, []string{"a"}, p.node.Subscriptions())
	require.True(t, slices.IsSortedFunc(l.all(), func(a, b string) int { return len(a) - len(b) }), "out of order")
}

// This test checks that the count stays exact when connections break at any
// moment, handshakes and subscribing included, again and again under load.
func TestEveryMomentToBreakIsCounted(t *testing.T) {
	p := newPlace(t)
	p.relay()
	w, socket := newWire(t, p.socket)
	c, err := client.New(client.Config{Socket: socket})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Close() })
	var l listener
	s := subscribe(t, c, "a", &l, patterns.SubscribeOptions{})
	stop := make(chan struct{})
	var cuts sync.WaitGroup
	cuts.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(i%40) * time.Millisecond):
				w.cut()
			}
		}
	})
	const count = 20000
	for i := range count / 100 {
		publish(t, p.node, "a", 100*i+1, 100*i+100)
		time.Sleep(time.Millisecond)
	}
	close(stop)
	cuts.Wait()
	eventually(t, func() bool {
		status := s.Status()
		return status.Delivered+status.Missed >= count
	}, "delivered and missed is not what was sent")
	status := s.Status()
	t.Logf("%d delivered, %d missed, %d gaps", status.Delivered, status.Missed, len(l.missed()))
	require.Equal(t, uint64(count), status.Delivered+status.Missed)
	for _, g := range l.missed() {
		require.True(t, g.Exact, g)
	}
}

// This test checks that a relay that is replaced in good order delivers what
// waits first, and that the client then learns of the gap between.
func TestADrainedRelayDeliversWhatWaits(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	l := &listener{hold: make(chan struct{})}
	s := subscribe(t, c, "a", l, patterns.SubscribeOptions{QueueLength: 100})
	publish(t, p.node, "a", 1, 100)
	eventually(t, func() bool { return s.Status().Queued == 49 }, "the window is not full")
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(t.Context()) }()
	eventually(t, func() bool { return r.Status().Draining }, "")
	time.Sleep(10 * time.Millisecond)
	close(l.hold)
	require.NoError(t, <-ended)
	p.relay()
	eventually(t, func() bool { return len(p.node.Subscriptions()) == 1 }, "it does not come back")
	publish(t, p.node, "a", 101, 101)
	eventually(t, func() bool { return slices.Equal(l.all(), run(1, 101)) }, "something is lost")
	require.Equal(t, []patterns.Gap{{Reason: patterns.GapRelay}}, l.missed())
}
