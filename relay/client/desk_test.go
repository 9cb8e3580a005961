// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"crypto/rand"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for one thing before it says that it hangs.
// No promise is about it: on a busy machine everything may take long.
const patience = time.Minute

// desk is the relay's end as a test scripts it: one client at a time, and every
// frame answered as a relay without a network would, unless answer says
// otherwise.
type desk struct {
	t      testing.TB
	socket string
	// answer, if not nil, sees each message first; true = that was all.
	answer   func(s *session.Session, k wire.Kind, body []byte) bool
	features wire.Features

	mu       sync.Mutex
	listener net.Listener        // guarded by mu; nil = nobody listens
	instance [16]byte            // guarded by mu
	sess     *session.Session    // guarded by mu
	conn     net.Conn            // guarded by mu
	lanes    int                 // guarded by mu; bytes
	hangUps  int                 // guarded by mu; on so many connections, when their Hello has come
	came     map[wire.Kind][]any // guarded by mu; what was asked for, in order
	hellos   []wire.LeafHello    // guarded by mu
	last     uint64              // guarded by mu; session
	over     chan struct{}       // guarded by mu; closed when the last connection has ended
	ended    error               // guarded by mu; why it has
	wg       sync.WaitGroup
	done     chan struct{}
}

func newDesk(t testing.TB) *desk {
	d := &desk{t: t, socket: filepath.Join(t.TempDir(), "relay.sock"), features: wire.AllFeatures &^ wire.FeatureSeveral, lanes: 1 << 20, came: map[wire.Kind][]any{}, done: make(chan struct{})}
	t.Cleanup(func() {
		close(d.done)
		d.stop()
		d.wg.Wait()
	})
	return d
}

// open has the desk listen, as a relay that has just been started.
func (d *desk) open() *desk {
	d.t.Helper()
	l, err := net.Listen("unix", d.socket)
	require.NoError(d.t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	rand.Read(d.instance[:])
	d.listener, d.sess = l, nil
	d.wg.Go(func() { d.accept(l) })
	return d
}

// stop is the death of the relay's process.
func (d *desk) stop() {
	d.mu.Lock()
	l, s := d.listener, d.sess
	d.listener, d.sess = nil, nil
	d.mu.Unlock()
	if l != nil {
		l.Close()
	}
	if s != nil {
		s.End()
	}
	d.cut()
}

// cut breaks the connection.
func (d *desk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		d.conn.Close()
	}
}

func (d *desk) session() *session.Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sess
}

// all returns what came of a kind.
func (d *desk) all(k wire.Kind) []any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]any(nil), d.came[k]...)
}

func (d *desk) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		d.wg.Go(func() { d.serve(conn) })
	}
}

func (d *desk) serve(conn net.Conn) {
	defer conn.Close()
	c := session.NewCarrier(session.NetConn(conn), &wire.Bodies{}, nil)
	_, k, body, err := c.Frames.Next()
	if err != nil || k != wire.KindHello {
		return
	}
	hello, err := wire.DecodeLeafHello(body)
	if err != nil || d.hangsUp() {
		return
	}
	s, answer, over := d.welcome(conn, &hello)
	_, err = conn.Write(wire.AppendFrame(nil, wire.LaneCtl, wire.KindHello, answer.AppendTo(nil)))
	if err == nil {
		err = s.Run(c, session.Greeting{Received: hello.Received, Sample: session.Sample{Got: 1, Remote: hello.Clock}})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = err
	close(over)
}

// hangsUp counts a connection on which the Hello is not answered.
func (d *desk) hangsUp() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hangUps--
	return d.hangUps >= 0
}

// left waits until the last connection has ended, and returns why. The client may
// know of the end before the desk does.
func (d *desk) left() error {
	d.mu.Lock()
	over := d.over
	d.mu.Unlock()
	<-over
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

func (d *desk) welcome(conn net.Conn, hello *wire.LeafHello) (*session.Session, wire.RelayHello, chan struct{}) {
	old := d.session()
	var received wire.Counts
	if old != nil {
		received = old.Detach()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hellos = append(d.hellos, *hello)
	d.conn, d.over = conn, make(chan struct{})
	if old == nil || old.ID() != hello.Session {
		d.last++
		d.sess = d.newSession(d.last + uint64(d.instance[0])<<8)
		received = wire.Counts{}
	}
	answer := wire.RelayHello{
		Version: 1, Features: d.features, Instance: d.instance, Leaf: wire.LeafID{1},
		Session: d.sess.ID(), Received: received, Clock: 1, LargestFrame: wire.MaxFrame, Peer: "peer", Name: "desk",
	}
	for i := range answer.LaneBytes {
		answer.LaneBytes[i] = uint32(d.lanes)
	}
	return d.sess, answer, d.over
}

func (d *desk) newSession(id uint64) *session.Session {
	var s *session.Session
	s = session.New(session.Config{
		Seam: session.Seam{
			Clock: overlay.NewRealClock(), Exec: atOnce{}, Rand: atOnce{},
			Go:   func(f func()) bool { d.wg.Go(f); return true },
			Done: d.done,
		},
		ID: id, Epoch: time.Now().Add(-time.Second),
		LaneBytes: [wire.Lanes]int{d.lanes, d.lanes, d.lanes, d.lanes}, MaxMessage: 17 << 20, Leaf: true,
		Handler: func(_ wire.Lane, k wire.Kind, body []byte) bool {
			if d.answer == nil || !d.answer(s, k, body) {
				d.handle(s, k, body)
			}
			return true
		},
	})
	return s
}

// handle answers as a relay would.
func (d *desk) handle(s *session.Session, k wire.Kind, body []byte) {
	done := func(id uint64) { d.says(s, wire.Done{ID: id, Value: id + 0x100}) }
	switch k {
	case wire.KindServe:
		done(noted(d, k, body, wire.DecodeServe).ID)
	case wire.KindSubscribe:
		done(noted(d, k, body, wire.DecodeSubscribe).ID)
	case wire.KindLeave:
		done(noted(d, k, body, wire.DecodeLeave).ID)
	case wire.KindPublish:
		m := published(d, body)
		d.notePublished(m)
		if m.ID != 0 && m.ID != wire.SeveralPublications {
			done(m.ID)
		}
	case wire.KindRequest:
		m := noted(d, k, body, wire.DecodeRequest)
		r := wire.Reply{ID: m.ID, From: &wire.From{Attempts: 1, Member: 7, Peer: "peer"}, Tail: m.Tail}
		d.tell(s, wire.LaneRPC, wire.KindReply, r.AppendTo(nil))
	case wire.KindReply:
		noted(d, k, body, wire.DecodeReply)
	case wire.KindTunnelCredit:
		noted(d, k, body, wire.DecodeTunnelCredit)
	}
}

// tell sends the client something in a session that may be over.
func (d *desk) tell(s *session.Session, lane wire.Lane, k wire.Kind, body []byte) {
	if _, err := s.Send(lane, k, body); err != nil {
		d.t.Log("desk:", err)
	}
}

// says tells the client what became of what it has asked for.
func (d *desk) says(s *session.Session, m wire.Done) {
	d.tell(s, wire.LaneCtl, wire.KindDone, m.AppendTo(nil))
}

// on has f see each message of a kind first; true = that was all.
func (d *desk) on(kind wire.Kind, f func(s *session.Session, body []byte) bool) {
	d.answer = func(s *session.Session, k wire.Kind, body []byte) bool { return k == kind && f(s, body) }
}

// read returns what the client has sent.
func read[M any](d *desk, body []byte, decode func([]byte) (M, error)) M {
	m, err := decode(body)
	if err != nil {
		d.t.Error(err)
	}
	return m
}

// published is read for publications.
func published(d *desk, body []byte) wire.LeafPublish {
	return read(d, body, func(b []byte) (wire.LeafPublish, error) { return wire.DecodeLeafPublish(b, nil) })
}

// noted is read, and has all return it.
func noted[M any](d *desk, k wire.Kind, body []byte, decode func([]byte) (M, error)) M {
	m := read(d, body, decode)
	d.note(k, m)
	return m
}

// notePublished notes each message of a frame.
func (d *desk) notePublished(m wire.LeafPublish) {
	for m.Count > 0 {
		one := m
		one.Tail = m.Next()
		d.note(wire.KindPublish, one)
	}
}

func (d *desk) note(k wire.Kind, m any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.came[k] = append(d.came[k], m)
}

// send sends the client something in the session that there is.
func (d *desk) send(lane wire.Lane, k wire.Kind, parts ...[]byte) {
	d.t.Helper()
	_, err := d.session().Send(lane, k, parts...)
	require.NoError(d.t, err)
}

// publish sends the client a message for its subscriptions.
func (d *desk) publish(topic, body string, ids ...uint64) {
	d.t.Helper()
	m := wire.LeafPublication{Publisher: "pub", Topic: topic, Subscriptions: ids}
	d.send(wire.LanePub, wire.KindPublish, m.AppendHead(nil), wire.AppendTail(nil, nil, []byte(body)))
}

// gap tells it how much one of them has missed.
func (d *desk) gap(id, missed uint64) {
	d.t.Helper()
	g := wire.Gap{Subscriptions: []uint64{id}, Missed: missed, Exact: true, Reason: wire.GapLane, Publisher: "pub"}
	d.send(wire.LanePub, wire.KindGap, g.AppendTo(nil))
}

// attached is a desk that is open, and a client of it.
func attached(t testing.TB) (*desk, *client.Client) {
	t.Helper()
	d := newDesk(t).open()
	return d, d.client()
}

// client attaches one, which waits for a relay as long as that may take to come.
func (d *desk) client(change ...func(*client.Config)) *client.Client {
	d.t.Helper()
	cfg := client.Config{Socket: d.socket, Name: "test", RelayWait: patience}
	for _, f := range change {
		f(&cfg)
	}
	c, err := client.New(cfg)
	require.NoError(d.t, err)
	require.NoError(d.t, c.Start(d.t.Context()))
	d.t.Cleanup(func() { c.Close() })
	return c
}

// atOnce is the seam of a program that runs in real time.
type atOnce struct{}

func (atOnce) Wake(_ session.ExecKey, f func()) { f() }

func (atOnce) IntN(n int) int { return n / 2 }

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
}

// serve makes m a member of the cluster.
func serve(t testing.TB, m patterns.Messenger, cluster string, h patterns.HandlerFunc) patterns.Registration {
	t.Helper()
	r, err := m.Serve(t.Context(), cluster, h, patterns.Limits{})
	require.NoError(t, err)
	return r
}

// ask makes a request to which nobody pays attention.
func ask(t testing.TB, m patterns.Messenger, opts ...patterns.RequestOption) error {
	_, err := m.Request(t.Context(), "geo", patterns.Message{}, opts...)
	return err
}

// beside runs f while the test goes on, and gives what it returns.
func beside(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

func eventually(t testing.TB, what func() bool, text string) {
	t.Helper()
	require.Eventually(t, what, patience, time.Millisecond, text)
}
