// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// rig is an opener's engine with a link whose other side is the test.
type rig struct {
	ears
	t      testing.TB
	engine *Engine
	link   *testLink
	over   request.Link // what the engine has instead of link, if not nil
	keys   *security.Cluster
	// before is called when the engine asks a member, and may put frames in.
	before func(o wire.TunnelOpen)
	answer error
}

// ears are what an engine hears with: most of its request.Links.
type ears struct {
	hears  map[wire.Kind]func(request.Link, []byte)
	events func(overlay.PeerEvent)
}

func newEars() ears { return ears{hears: make(map[wire.Kind]func(request.Link, []byte))} }

func (e *ears) LinkTime(time.Time) uint64 { return 0 }

func (e *ears) Subscribe(f func(overlay.PeerEvent)) { e.events = f }

func (e *ears) Handle(k wire.Kind, h func(request.Link, []byte)) { e.hears[k] = h }

func (e *ears) HandleLent(k wire.Kind, h func(request.Link, []byte) bool) {
	e.hears[k] = func(l request.Link, body []byte) { h(l, body) }
}

// calm is what links are that are never in doubt, and keep what they are given.
type calm struct{}

func (calm) Suspect() bool { return false }

func (calm) Open([]string) {}

func (calm) Last(func()) bool { return false }

func (calm) Withdraw(overlay.Receipt) bool { return false }

func (calm) LocalTime(uint64) time.Time { return time.Time{} }

type sentFrame struct {
	lane overlay.Lane
	kind wire.Kind
	body []byte
}

// inLine is a frame that stands in line.
type inLine struct {
	sentFrame
	sent func(overlay.Receipt, error)
}

// testLink notes what is sent.
type testLink struct {
	calm
	mu      sync.Mutex
	session uint64
	full    bool // no room in lane bulk, nor in ctl
	room    chan struct{}
	sent    []sentFrame
	line    []inLine
	quiet   bool // notes nothing
	held    int
}

func (l *testLink) Peer() peer.ID { return farPeer }

func (l *testLink) Session() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

func (l *testLink) Hold() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held--
	}
}

func (l *testLink) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	return l.SendWait(context.Background(), lane, k, parts...)
}

func (l *testLink) SendLater(lane overlay.Lane, k wire.Kind, sent func(overlay.Receipt, error), parts ...[]byte) (func() bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == 0 {
		return nil, overlay.ErrLinkDown
	}
	l.line = append(l.line, inLine{sentFrame{lane, k, bytes.Join(parts, nil)}, sent})
	if !l.full {
		l.room, l.full = make(chan struct{}), true
		go l.empty()
	}
	return func() bool { return false }, nil
}

func (l *testLink) SendWait(ctx context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.full {
		room := l.room
		l.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			l.mu.Lock()
			return overlay.Receipt{}, ctx.Err()
		}
		l.mu.Lock()
	}
	if l.session == 0 {
		return overlay.Receipt{}, overlay.ErrLinkDown
	}
	if !l.quiet {
		l.sent = append(l.sent, sentFrame{lane, k, bytes.Join(parts, nil)})
	}
	return overlay.Receipt{Session: l.session}, nil
}

// fill takes the lanes' room away, empty gives it back.
func (l *testLink) fill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full, l.room = true, make(chan struct{})
}

func (l *testLink) empty() {
	l.mu.Lock()
	line := l.line
	l.line = nil
	for _, f := range line {
		l.sent = append(l.sent, f.sentFrame)
	}
	l.full = false
	close(l.room)
	session := l.session
	l.mu.Unlock()
	for _, f := range line {
		f.sent(overlay.Receipt{Session: session}, nil)
	}
}

// frames returns what was sent since the last call.
func (l *testLink) frames() []sentFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.sent
	l.sent = nil
	return out
}

// rig implements request.Links.
func (r *rig) Self() peer.ID { return "opener" }

func (r *rig) Link(peer.ID) request.Link {
	if r.over != nil {
		return r.over
	}
	return r.link
}

// inRig runs f with a rig, in virtual time.
func inRig(t *testing.T, sealed bool, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t, sealed)) })
}

func newRig(t testing.TB, sealed bool) *rig {
	r := &rig{t: t, link: &testLink{session: 5}, ears: newEars(), keys: pipeKeys(t)}
	r.engine = newEngine(t, Config{Links: r, Ask: r.ask, Keys: func(string) *security.Cluster { return r.keys }}, sealed)
	return r
}

// pipeKeys are those that the network gives cluster "pipe".
func pipeKeys(t testing.TB) *security.Cluster {
	network, err := security.NewNetwork(security.NetworkFile{
		Name: "test", ID: security.NetworkID{1}, Keys: []security.KeyVersion{{Version: 1, Key: security.Key{1}}},
	})
	require.NoError(t, err)
	return network.Cluster("pipe")
}

// newEngine returns an engine that is closed at the end of the test.
func newEngine(t testing.TB, cfg Config, seals bool) *Engine {
	workers := overlay.NewWorkers(100)
	cfg.Clock, cfg.Rand, cfg.Exec, cfg.Incarnation = overlay.NewRealClock(), overlay.NewRealRand(), workers, 3
	if seals {
		cfg.Seal = request.SealAlways
	}
	e, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.NoError(t, workers.Close())
	})
	return e
}

// ask answers for the member.
func (r *rig) ask(_ context.Context, a request.Ask) (request.Answer, error) {
	o, err := wire.DecodeTunnelOpen(a.Message.Body)
	require.NoError(r.t, err)
	if r.before != nil {
		r.before(o)
	}
	accept := wire.TunnelAccept{Credit: credit.FirstWindow}
	if len(o.Stream) > 0 {
		accept.Salt = salt
	}
	return request.Answer{
		Message: patterns.Message{Body: accept.AppendTo(nil)}, Session: 5,
		Member: &cluster.Member{ID: 1, Peer: farPeer, Incarnation: 4, MaxMessage: 1 << 20},
	}, r.answer
}

// hear has the engine get a frame of the member.
func (r *rig) hear(k wire.Kind, body []byte) { r.hears[k](r.link, body) }

func (r *rig) data(id uint64, payload []byte, last bool) {
	m := wire.TunnelData{ID: id, Payload: payload}
	if last {
		m.Flags = wire.FlagLast
	}
	r.hear(wire.KindTunnelData, m.AppendTo(nil))
}

func (r *rig) open() *Tunnel {
	t, err := r.engine.Open(context.Background(), "pipe", patterns.Message{}, patterns.RequestOptions{})
	require.NoError(r.t, err)
	frames := r.link.frames()
	require.Len(r.t, frames, 1)
	require.Equal(r.t, wire.KindTunnelCredit, frames[0].kind, "the opener says a word")
	return t.(*Tunnel)
}

// ended is how a tunnel ended, in words that can be compared.
func ended(err error) string {
	var reset *patterns.TunnelError
	if errors.As(err, &reset) {
		return fmt.Sprint(reset.Code, " ", reset.Message)
	}
	for _, e := range []error{patterns.ErrInterrupted, patterns.ErrClosed, patterns.ErrOverloaded, patterns.ErrUnauthorized} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return fmt.Sprint(err)
}

// stalled is a reader that stops after 10 MiB, until read is closed.
type stalled struct {
	read chan struct{}
	sum  chan int64 // what it has read in all
}

func newStalled() *stalled { return &stalled{make(chan struct{}), make(chan int64, 1)} }

func (s *stalled) serve(ctx context.Context, t patterns.Tunnel) error {
	for all := int64(0); ; {
		n, err := t.ReceiveTo(ctx, io.Discard)
		if all += n; err == io.EOF {
			s.sum <- all
			return nil
		}
		if all > 10<<20 {
			<-s.read
		}
	}
}

// growWindows sends until the reader stops, and returns how many bytes that took. A
// window grows only while little in it is unread, so the reader has its time.
func growWindows(t *testing.T, tunnel *Tunnel) (total int64) {
	for range 11 << 4 {
		require.NoError(t, tunnel.Send(context.Background(), make([]byte, 64<<10)))
		total += 64 << 10
		synctest.Wait()
	}
	return total
}

// stalledBytes are what goesOnWhile sends.
const stalledBytes = 200 * 50_000

// goesOnWhile has the reader go on while the way to it is stuck, and more is sent than
// there is room for: the channel is closed when all is.
func (s *stalled) goesOnWhile(t *testing.T, tunnel *Tunnel) <-chan struct{} {
	close(s.read)
	sent := make(chan struct{})
	go func() {
		for range 200 {
			require.NoError(t, tunnel.Send(context.Background(), make([]byte, stalledBytes/200)))
		}
		require.NoError(t, tunnel.CloseSend())
		close(sent)
	}()
	time.Sleep(time.Minute)
	require.Empty(t, sent)
	synctest.Wait()
	return sent
}
