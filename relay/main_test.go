// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for one thing before it says that it hangs.
const patience = time.Minute

// stage is a relay on a node of a simulated network, all in virtual time.
type stage struct {
	*simnet.Nodes
	t     *testing.T
	net   *sim.Network
	node  *node.Node // the relay's
	relay *relay.Relay
	cfg   relay.Config
}

// play runs body on a stage. change may set what the test is about.
func play(t *testing.T, change func(*relay.Config), body func(t *testing.T, s *stage)) {
	t.Helper()
	sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
		nodes := simnet.New(t, n, "test")
		s := &stage{Nodes: nodes, t: t, net: n, node: nodes.Start("relay")}
		s.relay, s.cfg = s.relayOn(s.node, "relay", change)
		body(t, s)
	})
}

// relayOn runs a relay on a node until the test ends.
func (s *stage) relayOn(n *node.Node, name string, change func(*relay.Config)) (*relay.Relay, relay.Config) {
	s.t.Helper()
	seam := s.net.Seam(name + ".relay")
	cfg := relay.Config{Node: n, Peer: n.Self().String(), Seam: &relay.Seam{Clock: seam.Clock, Rand: seam.Rand, Exec: seam.Exec}}
	if change != nil {
		change(&cfg)
	}
	r, err := relay.New(cfg)
	require.NoError(s.t, err)
	require.NoError(s.t, r.Start(s.t.Context()))
	s.t.Cleanup(func() { require.NoError(s.t, r.Close()) })
	return r, cfg
}

// binding is a client that does only what it is told, frame by frame.
type binding struct {
	t       *testing.T
	conn    net.Conn
	frames  *wire.FrameReader
	hello   wire.LeafHello
	welcome wire.RelayHello
	counts  wire.Counts // frames that have come
	began   time.Time   // when it said Hello
	came    chan arrival
	ahead   []arrival
}

// arrival is what the connection brought.
type arrival struct {
	lane wire.Lane
	kind wire.Kind
	body []byte
	err  error
}

// dial connects to the relay, and says nothing.
func (s *stage) dial() *binding { return dialTo(s.t, s.relay) }

func dialTo(t *testing.T, r *relay.Relay) *binding {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); r.Attach(theirs) }()
	t.Cleanup(func() { ours.Close(); <-done })
	return newBinding(t, ours)
}

func newBinding(t *testing.T, conn net.Conn) *binding {
	return &binding{t: t, conn: conn, frames: wire.NewFrameReader(conn)}
}

// read has frames come from now on. A binding that does not read has a peer that
// can't write.
func (b *binding) read() {
	b.came = make(chan arrival, 1<<16)
	go func() {
		for {
			lane, k, body, err := b.frames.Next()
			b.came <- arrival{lane, k, body, err}
			if err != nil {
				return
			}
		}
	}()
}

// has says whether something has come that is not only about the session.
func (b *binding) has() bool {
	for {
		for _, a := range b.ahead {
			if a.kind != wire.KindAck && a.kind != wire.KindBeat && a.kind != wire.KindVoid {
				return true
			}
		}
		select {
		case a := <-b.came:
			b.ahead = append(b.ahead, a)
		default:
			return false
		}
	}
}

// in is a time on the binding's clock.
func (b *binding) in(d time.Duration) uint64 { return uint64(time.Since(b.began)+d) + 1 }

// relayNow is the time on the relay's clock.
func (b *binding) relayNow() uint64 { return b.welcome.Clock + uint64(time.Since(b.began)) }

// status is what the relay says about the first client of that name that has
// registrations.
func (s *stage) status(name string) relay.ClientStatus {
	for _, c := range s.relay.Status().Clients {
		if c.Name == name && len(c.Clusters) > 0 {
			return c
		}
	}
	return relay.ClientStatus{}
}

// attach says Hello with all features.
func (s *stage) attach() *binding { return s.dial().greet(hello()) }

func hello() wire.LeafHello {
	return wire.LeafHello{
		MinVersion: 1, MaxVersion: 1, Features: wire.AllFeatures &^ wire.FeatureSeveral, Instance: [16]byte{1}, Clock: 1, Name: "test",
	}
}

// greet says Hello and expects the relay's.
func (b *binding) greet(h wire.LeafHello) *binding {
	b.t.Helper()
	b.say(h)
	b.read()
	b.welcome = expect(b, wire.KindHello, wire.DecodeRelayHello)
	return b
}

// say says Hello.
func (b *binding) say(h wire.LeafHello) {
	b.t.Helper()
	b.hello, b.began = h, time.Now()
	b.send(wire.LaneCtl, wire.KindHello, &h)
}

// refused says Hello, and returns why the relay does not take it.
func (b *binding) refused(h wire.LeafHello) wire.LeafGoodbye {
	b.t.Helper()
	b.say(h)
	b.read()
	return b.goodbye()
}

// resume comes back on a new connection.
func (b *binding) resume(to *binding) *binding {
	b.t.Helper()
	h := b.hello
	h.Leaf, h.Session, h.Received = b.welcome.Leaf, b.welcome.Session, b.counts
	to.greet(h)
	if to.welcome.Session == b.welcome.Session {
		to.counts = b.counts
	}
	return to
}

// counted is the body of an Ack.
type counted wire.Counts

func (c counted) AppendTo(dst []byte) []byte { return wire.AppendAck(dst, wire.Counts(c)) }

// ack says that what was looked at need not be kept.
func (b *binding) ack() {
	b.t.Helper()
	b.send(wire.LaneCtl, wire.KindAck, counted(b.counts))
}

// message is what can be put into a frame.
type message interface{ AppendTo(dst []byte) []byte }

func (b *binding) send(lane wire.Lane, k wire.Kind, m message) { b.write(frame(lane, k, m)) }

func frame(lane wire.Lane, k wire.Kind, m message) []byte {
	return wire.AppendFrame(nil, lane, k, m.AppendTo(nil))
}

func (b *binding) write(raw []byte) {
	b.t.Helper()
	require.NoError(b.t, b.conn.SetWriteDeadline(time.Now().Add(patience)))
	_, err := b.conn.Write(raw)
	require.NoError(b.t, err)
}

// nextFrame returns the next frame, whatever it is.
func (b *binding) nextFrame() (wire.Lane, wire.Kind, []byte) {
	b.t.Helper()
	a := b.take()
	require.NoError(b.t, a.err)
	if a.kind.Counted() {
		b.counts[a.lane]++
	}
	return a.lane, a.kind, a.body
}

func (b *binding) take() (a arrival) {
	b.t.Helper()
	if len(b.ahead) > 0 {
		a, b.ahead = b.ahead[0], b.ahead[1:]
		return a
	}
	select {
	case a = <-b.came:
	case <-time.After(patience):
		require.Fail(b.t, "nothing comes")
	}
	return a
}

// whole is the next message, put together from fragments if need be.
func (b *binding) whole(want wire.Kind) []byte {
	b.t.Helper()
	k, body := b.next()
	var all []byte
	for k == wire.KindFragment {
		f, err := wire.DecodeFragment(body)
		require.NoError(b.t, err)
		all = append(all, f.Payload...)
		if f.Last {
			return all
		}
		k, body = b.next()
	}
	require.Equal(b.t, want, k, "%q", body)
	return body
}

// next reads the next frame that is not only about the session.
func (b *binding) next() (wire.Kind, []byte) {
	b.t.Helper()
	for {
		switch _, k, body := b.nextFrame(); k {
		case wire.KindAck, wire.KindBeat, wire.KindVoid:
		default:
			return k, body
		}
	}
}

// expect returns the next frame, which must be an M of that kind.
func expect[M any](b *binding, kind wire.Kind, decode func([]byte) (M, error)) M {
	b.t.Helper()
	k, body := b.next()
	require.Equal(b.t, kind, k, "%s: %q", k, body)
	m, err := decode(body)
	require.NoError(b.t, err)
	return m
}

// behind returns the next frame of a kind. What comes before is of the kinds over; if
// there are none, it may be anything.
func behind[M any](b *binding, kind wire.Kind, decode func([]byte) (M, error), over ...wire.Kind) M {
	b.t.Helper()
	k, body := b.next()
	for ; k != kind; k, body = b.next() {
		if len(over) > 0 {
			require.Contains(b.t, over, k, "%s: %q", k, body)
		}
	}
	m, err := decode(body)
	require.NoError(b.t, err)
	return m
}

// done expects a Done for id and returns it.
func (b *binding) done(id uint64) wire.Done {
	b.t.Helper()
	d := expect(b, wire.KindDone, wire.DecodeDone)
	require.Equal(b.t, id, d.ID)
	return d
}

func (b *binding) reply() wire.Reply {
	b.t.Helper()
	return expect(b, wire.KindReply, wire.DecodeReply)
}

func (b *binding) delivery() wire.Request {
	b.t.Helper()
	return expect(b, wire.KindRequest, wire.DecodeRequest)
}

func (b *binding) goodbye() wire.LeafGoodbye {
	b.t.Helper()
	return expect(b, wire.KindGoodbye, wire.DecodeLeafGoodbye)
}

// expectEnd expects the connection to end without another frame.
func (b *binding) expectEnd() {
	b.t.Helper()
	for {
		a := b.take()
		if a.err == nil && (a.kind == wire.KindAck || a.kind == wire.KindBeat) {
			continue
		}
		require.Error(b.t, a.err, "%s", a.kind)
		return
	}
}

// register makes the binding a member of the cluster.
func (b *binding) register(id uint64, cluster string) {
	b.t.Helper()
	d := b.tryServe(wire.Serve{ID: id, Cluster: cluster, Patterns: 15})
	require.Zero(b.t, d.Outcome, d.Text)
}

// tryServe asks for a registration, and returns what becomes of it.
func (b *binding) tryServe(m wire.Serve) wire.Done {
	b.t.Helper()
	b.send(wire.LaneCtl, wire.KindServe, &m)
	return b.done(m.ID)
}

// leave ends a registration or a subscription.
func (b *binding) leave(id uint64) wire.Done {
	b.t.Helper()
	b.send(wire.LaneCtl, wire.KindLeave, wire.Leave{ID: id})
	return b.done(id)
}

// pair attaches a member of the cluster, and who calls it.
func (s *stage) pair(cluster string) (server, caller *binding) {
	s.t.Helper()
	server, caller = s.attach(), s.attach()
	server.register(1, cluster)
	return server, caller
}

// ask sends a request with a route.
func (b *binding) ask(id uint64, cluster, body string) {
	b.t.Helper()
	b.request(wire.Request{ID: id, Route: &wire.Route{Cluster: cluster}, Tail: tail(body)})
}

// call is ask, and returns the reply.
func (b *binding) call(id uint64, cluster, body string) wire.Reply {
	b.t.Helper()
	b.ask(id, cluster, body)
	return b.reply()
}

func (b *binding) request(m wire.Request) {
	b.t.Helper()
	b.sendLarge(wire.LaneRPC, wire.KindRequest, m.AppendTo(nil))
}

// sendLarge sends a message of any size.
func (b *binding) sendLarge(lane wire.Lane, k wire.Kind, body []byte) {
	b.t.Helper()
	if len(body) <= wire.MaxPayload {
		b.write(wire.AppendFrame(nil, lane, k, body))
		return
	}
	if lane != wire.LanePub {
		lane = wire.LaneBulk
	}
	for rest, first := body, true; len(rest) > 0; first = false {
		n := min(len(rest), wire.MaxPayload)
		f := wire.Fragment{Channel: 1, First: first, Last: n == len(rest), Kind: k, Total: uint32(len(body)), Payload: rest[:n]}
		b.write(wire.AppendFrame(nil, lane, wire.KindFragment, f.AppendTo(nil)))
		rest = rest[n:]
	}
}

// answer answers a delivery with its own body.
func (b *binding) answer(d wire.Request) {
	b.t.Helper()
	b.sendLarge(wire.LaneRPC, wire.KindReply, (&wire.Reply{ID: d.ID, Tail: d.Tail}).AppendTo(nil))
}

// tail is headers and body as they travel.
func tail(body string, headers ...wire.Header) []byte {
	return wire.AppendTail(nil, headers, []byte(body))
}

// bodyOf is the body in a tail.
func bodyOf(t *testing.T, tail []byte) string {
	t.Helper()
	_, body, err := wire.SplitTail(tail)
	require.NoError(t, err)
	return string(body)
}

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
}

// serveEcho makes the node itself a member of the cluster, which also takes tunnels.
func (s *stage) serveEcho(cluster string) {
	s.t.Helper()
	_, err := s.node.Serve(s.t.Context(), cluster, patterns.Service{Request: echo, Tunnel: echoTunnel}, patterns.Limits{})
	require.NoError(s.t, err)
}

// eventually waits until what is true.
func eventually(t *testing.T, what func() bool, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), text)
	}
}
