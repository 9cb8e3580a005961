// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// wireless is the rest of the world for one engine: a link that hands each
// frame to a function, and a directory of one member.
type wireless struct {
	self, other peer.ID
	handlers    map[wire.Kind]func(request.Link, []byte)
	member      *cluster.Member
	view        *cluster.View
	sent        func(k wire.Kind, parts [][]byte)
	last        func(f func()) bool // nil = none runs where it was read
}

func newWireless() *wireless {
	m := &cluster.Member{ID: 1, Peer: "other", Incarnation: 7}
	return &wireless{
		self: "self", other: "other", handlers: make(map[wire.Kind]func(request.Link, []byte)),
		member: m, view: &cluster.View{Members: []*cluster.Member{m}, Known: true, Complete: true},
	}
}

func (w *wireless) engine(t testing.TB) *request.Engine {
	return w.engineWith(t, func(*request.Config) {})
}

func (w *wireless) engineWith(t testing.TB, change func(*request.Config)) *request.Engine {
	workers := overlay.NewWorkers(100)
	cfg := request.Config{
		Ephemerals: security.NewEphemerals(overlay.NewRealRand().Stream("ephemeral"), time.Now()),
		Links:      w, Directory: w, Clock: overlay.NewRealClock(), Rand: overlay.NewRealRand(), Exec: workers,
		Incarnation: 7, Keys: func(name string) *security.Cluster { return derivedKeys(name) },
	}
	change(&cfg)
	e, err := request.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.NoError(t, workers.Close())
	})
	return e
}

func (w *wireless) Self() peer.ID                                           { return w.self }
func (w *wireless) Link(peer.ID) request.Link                               { return w }
func (w *wireless) LinkTime(t time.Time) uint64                             { return uint64(t.UnixNano()) }
func (w *wireless) Handle(k wire.Kind, h func(request.Link, []byte))        { w.handlers[k] = h }
func (w *wireless) Subscribe(func(overlay.PeerEvent))                       {}
func (w *wireless) Watch(string) request.Watch                              { return w }
func (w *wireless) Pick(*cluster.View, cluster.PickRequest) *cluster.Member { return w.member }
func (w *wireless) Begin(*cluster.Member)                                   {}
func (w *wireless) Done(*cluster.Member, cluster.Result)                    {}
func (w *wireless) State(*cluster.Member) string                            { return "live" }
func (w *wireless) View() *cluster.View                                     { return w.view }
func (w *wireless) Release()                                                {}
func (w *wireless) Peer() peer.ID                                           { return w.other }
func (w *wireless) Session() uint64                                         { return 1 }
func (w *wireless) Suspect() bool                                           { return false }
func (w *wireless) Last(f func()) bool                                      { return w.last != nil && w.last(f) }

func (w *wireless) Withdraw(overlay.Receipt) bool     { return false }
func (w *wireless) Open([]string)                     {}
func (w *wireless) Hold() func()                      { return func() {} }
func (w *wireless) LocalTime(remote uint64) time.Time { return time.Unix(0, int64(remote)) }

func (w *wireless) HandleLent(k wire.Kind, h func(request.Link, []byte) bool) {
	w.Handle(k, func(l request.Link, body []byte) { h(l, body) })
}

func (w *wireless) Wait(context.Context, bool) (*cluster.View, error) { return w.view, nil }

func (w *wireless) Send(_ overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	w.sent(k, parts)
	return overlay.Receipt{Session: 1}, nil
}

func (w *wireless) SendWait(_ context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	return w.Send(lane, k, parts...)
}

func (w *wireless) SendLater(overlay.Lane, wire.Kind, func(overlay.Receipt, error), ...[]byte) (func() bool, error) {
	panic("no lane is full here")
}

// tail is a body without headers.
func tail(body []byte) []byte { return wire.AppendTail(nil, nil, body) }

// encodeReply lays out a reply without headers.
func encodeReply(r wire.Reply, body []byte) []byte {
	r.Tail = tail(body)
	return r.AppendTo(nil)
}

// repliesAtOnce has whatever is asked be answered with 1 KiB.
func (w *wireless) repliesAtOnce() {
	reply := encodeReply(wire.Reply{}, make([]byte, 1024))
	w.sent = func(_ wire.Kind, parts [][]byte) {
		frame := bytes.Clone(reply)
		copy(frame, parts[0][:8])
		w.handlers[wire.KindReply](w, frame)
	}
}

// callerCost returns a function that sends one request and gets its reply. The
// member is this test: it allocates only the frame of the reply, as a link's
// reader does.
func callerCost(t testing.TB) func() {
	w := newWireless()
	w.repliesAtOnce()
	e := w.withBell(t)
	ctx, m := context.Background(), patterns.Message{Body: make([]byte, 1024)}
	return func() {
		if reply, err := e.Do(ctx, "geo", m, patterns.RequestOptions{}); err != nil || len(reply.Body) != 1024 {
			panic(err)
		}
	}
}

// memberCost returns a function that has one request handled and waits for the
// reply. The caller is this test.
func memberCost(t testing.TB) func() {
	w := newWireless()
	replied := make(chan struct{}, 1)
	w.sent = func(wire.Kind, [][]byte) { replied <- struct{}{} }
	e := w.engine(t)
	_, err := e.AddMember(1, "geo", patterns.ServiceOf(echo), patterns.Limits{})
	require.NoError(t, err)
	r := wire.Request{Member: 1, Incarnation: 7, Tail: tail(make([]byte, 1024))}
	r.Deadline = w.LinkTime(time.Now().Add(time.Hour))
	template := r.AppendTo(nil)
	id := uint64(0)
	return func() {
		frame := bytes.Clone(template)
		id++
		binary.BigEndian.PutUint64(frame, id)
		w.handlers[wire.KindRequest](w, frame)
		<-replied
	}
}

// pushCost returns a function that has one push accepted and handled.
func pushCost(t testing.TB) func() {
	w := newWireless()
	w.sent = func(wire.Kind, [][]byte) {}
	e := w.engine(t)
	done := make(chan struct{}, 1)
	_, err := e.AddMember(1, "geo", patterns.Service{Push: func(context.Context, *patterns.Request) { done <- struct{}{} }}, patterns.Limits{})
	require.NoError(t, err)
	r := wire.Request{Member: 1, Incarnation: 7, Tail: tail(make([]byte, 1024)), Pattern: uint8(patterns.PatternPush)}
	r.Deadline = w.LinkTime(time.Now().Add(time.Hour))
	template := r.AppendTo(nil)
	return func() {
		w.handlers[wire.KindRequest](w, bytes.Clone(template))
		<-done
	}
}

// everybodyCost returns a function that asks so many members and gets their
// replies: all at once, or one after the other.
func everybodyCost(t testing.TB, members int, atOnce bool) func() {
	w := newWireless()
	for i := 1; i < members; i++ {
		w.view.Members = append(w.view.Members, &cluster.Member{ID: cluster.MemberID(i + 1), Peer: "other", Incarnation: 7})
	}
	w.repliesAtOnce()
	e := w.engine(t)
	ctx, m := context.Background(), patterns.Message{Body: make([]byte, 1024)}
	took := func(_ *cluster.Member, _ request.Answer, err error) (bool, error) { return true, err }
	if atOnce {
		return func() {
			if tally, err := e.AskAll(ctx, request.All{Cluster: "geo", Pattern: patterns.PatternSurvey, Message: m, MaxBytes: 1 << 20}, took); err != nil || !tally.Complete {
				panic(err)
			}
		}
	}
	return func() {
		for _, to := range w.view.Members {
			if _, err := e.Ask(ctx, request.Ask{Cluster: "geo", Pattern: patterns.PatternSurvey, Message: m, To: to}); err != nil {
				panic(err)
			}
		}
	}
}

func TestAPushAndASurveyCostFewAllocations(t *testing.T) {
	// This test holds the member's side of a push to 4, and a survey to 5 for
	// each member that is asked, the frame that comes in included.
	if raced.Enabled {
		t.Skip("the race detector allocates too")
	}
	push, few, many := testing.AllocsPerRun(1000, pushCost(t)), testing.AllocsPerRun(100, everybodyCost(t, 10, true)), testing.AllocsPerRun(100, everybodyCost(t, 110, true))
	t.Logf("push %v, survey %v for the next 100 members, %v for the first 10", push, many-few, few)
	require.LessOrEqual(t, push, 4.0)
	require.LessOrEqual(t, many-few, 500.0)
}

// repeats measures f.
func repeats(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

// BenchmarkEverybody asks 100 members, at once and, for comparison, one after
// the other.
func BenchmarkEverybody(b *testing.B) {
	for _, atOnce := range []bool{true, false} {
		b.Run(map[bool]string{true: "at-once", false: "one-by-one"}[atOnce], func(b *testing.B) {
			repeats(b, everybodyCost(b, 100, atOnce))
		})
	}
}

func BenchmarkPush(b *testing.B) { repeats(b, pushCost(b)) }

func TestARequestCostsFewAllocations(t *testing.T) {
	// This test holds the hot path to what is promised for it: at the caller
	// nothing but the frame that brings the reply, which is the user's; at the
	// member the frame of the request and one more, both the handler's.
	if raced.Enabled {
		t.Skip("the race detector allocates too")
	}
	caller, member := testing.AllocsPerRun(1000, callerCost(t)), testing.AllocsPerRun(1000, memberCost(t))
	t.Logf("caller %v, member %v", caller, member)
	require.LessOrEqual(t, caller, 1.0)
	require.LessOrEqual(t, member, 2.0)
}

func BenchmarkCaller(b *testing.B) { repeats(b, callerCost(b)) }

// roundTripCost returns a function that sends a request of that size from one engine to
// another one, which answers with the same. Links hand frames over, each in memory of
// its own, as they come in.
func roundTripCost(t testing.TB, size int, change func(*request.Config)) func() {
	a, b := newWireless(), newWireless()
	a.self, a.other, b.self, b.other = "caller", "member", "member", "caller"
	pass := func(from, to *wireless) {
		from.sent = func(k wire.Kind, parts [][]byte) { to.handlers[k](to, bytes.Join(parts, nil)) }
	}
	pass(a, b)
	pass(b, a)
	ephemerals := security.NewEphemerals(overlay.NewRealRand().Stream("ephemeral"), time.Now())
	caller := a.engineWith(t, change)
	member := b.engineWith(t, func(c *request.Config) { change(c); c.Ephemerals = ephemerals })
	a.member.Peer, a.member.Ephemeral = "member", ephemerals.Public()
	_, err := member.AddMember(1, "geo", patterns.ServiceOf(echo), patterns.Limits{})
	require.NoError(t, err)
	ctx, m := context.Background(), patterns.Message{Body: make([]byte, size)}
	return func() {
		if reply, err := caller.Do(ctx, "geo", m, patterns.RequestOptions{}); err != nil || len(reply.Body) != size {
			panic(err)
		}
	}
}

// sealedAndOpen are the two ways to send, with keys that are made once.
var sealedAndOpen = map[string]func(*request.Config){
	"open":   func(c *request.Config) { k := derivedKeys("geo"); c.Keys = func(string) *security.Cluster { return k } },
	"sealed": func(c *request.Config) { k := ownKeys("geo"); c.Keys = func(string) *security.Cluster { return k } },
}

func TestASealedRequestCostsNoMoreAllocations(t *testing.T) {
	// This test holds a round trip that is sealed to what one in the clear allocates:
	// subkeys are cached, and what is sealed is made in memory that is used again.
	if raced.Enabled {
		t.Skip("the race detector allocates too")
	}
	open := testing.AllocsPerRun(2000, roundTripCost(t, 1024, sealedAndOpen["open"]))
	sealed := testing.AllocsPerRun(2000, roundTripCost(t, 1024, sealedAndOpen["sealed"]))
	t.Logf("open %v, sealed %v", open, sealed)
	require.LessOrEqual(t, sealed, open)
}

// BenchmarkRoundTrip measures a request and its reply between two engines, in the clear and
// sealed.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"16B", 16}, {"1KB", 1 << 10}, {"64KB", 64 << 10}} {
		for _, how := range []string{"open", "sealed"} {
			b.Run(size.name+"/"+how, func(b *testing.B) {
				repeats(b, roundTripCost(b, size.bytes, sealedAndOpen[how]))
			})
		}
	}
}

func BenchmarkMember(b *testing.B) { repeats(b, memberCost(b)) }
