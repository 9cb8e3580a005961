// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// spliced is a client, its relay and another node, which serves, or which opens:
// three engines with cables between them.
type spliced struct {
	t                 *testing.T
	client, relay, at *party
	hop               *Hop
	up, down          *cable // from the client, to the client
	out, in           *cable // from the relay to the node, to the relay
	handler           handler
	served            bool // the client serves
}

// party is one engine with its one link.
type party struct {
	ears
	id     peer.ID
	engine *Engine
	keys   *security.Cluster
	link   *cable
	ask    func(request.Ask) (request.Answer, error)
	limits patterns.Limits
}

// cable carries frames to one other side, in order, lane ctl first.
type cable struct {
	calm
	peer peer.ID
	hear func(wire.Kind, []byte)

	mu      sync.Mutex
	room    int // bytes of lane bulk; 0 = it is stuck
	queued  int
	frames  [2][]inLine
	waiting []inLine
	down    bool
	news    chan struct{}
	most    int // that ever stood in line
}

func newCable(t *testing.T, peer peer.ID) *cable {
	c := &cable{peer: peer, room: 256 << 10, news: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for {
			select {
			case <-c.news:
				for c.next() {
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return c
}

// next places what stands in line, and carries one frame over.
func (c *cable) next() bool {
	c.mu.Lock()
	var f inLine
	for lane := range c.frames {
		if len(c.frames[lane]) > 0 && (lane == 0 || c.room > 0) {
			f, c.frames[lane] = c.frames[lane][0], c.frames[lane][1:]
			break
		}
	}
	if f.lane == overlay.LaneBulk {
		c.queued -= len(f.body)
	}
	var placed []inLine
	for len(c.waiting) > 0 && c.fits(c.waiting[0].sentFrame) {
		placed = append(placed, c.waiting[0])
		c.put(c.waiting[0])
		c.waiting = c.waiting[1:]
	}
	c.mu.Unlock()
	for _, p := range placed {
		p.sent(overlay.Receipt{Session: 1}, nil)
	}
	if f.kind != 0 {
		c.hear(f.kind, f.body)
	}
	return f.kind != 0 || len(placed) > 0
}

func (c *cable) fits(f sentFrame) bool {
	return f.lane == overlay.LaneCtl || c.queued+len(f.body) <= c.room
}

func (c *cable) put(f inLine) {
	if f.lane == overlay.LaneBulk {
		c.queued += len(f.body)
		c.frames[1] = append(c.frames[1], f)
	} else {
		c.frames[0] = append(c.frames[0], f)
	}
	c.nudge()
}

func (c *cable) nudge() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *cable) send(lane overlay.Lane, k wire.Kind, parts [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := inLine{sentFrame{lane, k, bytes.Join(parts, nil)}, nil}
	switch {
	case c.down:
		return overlay.ErrLinkDown
	case len(c.waiting) > 0 && lane == overlay.LaneBulk || !c.fits(f.sentFrame):
		return overlay.ErrLaneFull
	}
	c.put(f)
	return nil
}

func (c *cable) stick(room int) {
	c.mu.Lock()
	c.room = room
	c.mu.Unlock()
	c.nudge()
}

// session is the cable as a client's session.
type session struct{ *cable }

func (s session) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) error {
	return s.send(lane, k, parts)
}

func (s session) SendLater(lane overlay.Lane, k wire.Kind, sent func(error), parts ...[]byte) error {
	_, err := s.cable.SendLater(lane, k, func(_ overlay.Receipt, err error) { sent(err) }, parts...)
	return err
}

// cable implements request.Link.
func (c *cable) Peer() peer.ID { return c.peer }

func (c *cable) Session() uint64 { return 1 }

func (c *cable) Hold() func() { return func() {} }

func (c *cable) Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	return overlay.Receipt{Session: 1}, c.send(lane, k, parts)
}

func (c *cable) SendWait(ctx context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	err := c.send(lane, k, parts)
	if !errors.Is(err, overlay.ErrLaneFull) || ctx.Err() != nil {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		return overlay.Receipt{Session: 1}, err
	}
	sent := make(chan struct{})
	_, _ = c.SendLater(lane, k, func(overlay.Receipt, error) { close(sent) }, parts...)
	<-sent
	return overlay.Receipt{Session: 1}, nil
}

func (c *cable) SendLater(lane overlay.Lane, k wire.Kind, sent func(overlay.Receipt, error), parts ...[]byte) (func() bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, inLine{sentFrame{lane, k, bytes.Join(parts, nil)}, sent})
	in := 0
	for _, f := range c.waiting {
		in += len(f.body)
	}
	c.most = max(c.most, in)
	c.nudge()
	return func() bool { return false }, nil
}

// party implements request.Links and Server.
func (p *party) Self() peer.ID { return p.id }

func (p *party) Link(peer.ID) request.Link { return p.link }

func (p *party) ID() cluster.MemberID { return 77 }

func (p *party) Name() string { return "pipe" }

func (p *party) Limits() patterns.Limits { return p.limits.WithDefaults() }

func (p *party) Keys() *security.Cluster { return p.keys }

func (p *party) lose() {
	p.events(overlay.PeerEvent{Type: overlay.LinkDown, Peer: p.link.peer, Session: 1})
}

func newParty(t *testing.T, id peer.ID, seals bool, link *cable) *party {
	p := &party{id: id, ears: newEars(), link: link}
	cfg := Config{Links: p, Ask: func(_ context.Context, a request.Ask) (request.Answer, error) { return p.ask(a) }}
	if link != nil && id != "client" {
		p.keys = pipeKeys(t)
		cfg.Keys = func(string) *security.Cluster { return p.keys }
	}
	p.engine = newEngine(t, cfg, seals)
	return p
}

// requireIdle checks that none of these keeps anything of a tunnel.
func requireIdle(t *testing.T, parties ...*party) {
	t.Helper()
	for _, p := range parties {
		require.Zero(t, p.engine.Status(), p.id)
		require.Empty(t, p.engine.table.peers, p.id)
		require.Empty(t, p.engine.table.openings, p.id)
		require.Empty(t, p.engine.table.places, p.id)
	}
}

// inSplice runs f for tunnels that the client opens, and that it serves, plain and
// sealed, in virtual time.
func inSplice(t *testing.T, change func(c *HopConfig), f func(t *testing.T, s *spliced)) {
	t.Helper()
	for _, served := range []bool{false, true} {
		for _, seals := range []bool{false, true} {
			t.Run(fmt.Sprintf("served %v sealed %v", served, seals), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f(t, newSpliced(t, served, seals, change))
				})
			})
		}
	}
}

func newSpliced(t *testing.T, served, seals bool, change func(c *HopConfig)) *spliced {
	s := &spliced{t: t, served: served, handler: echoes}
	s.up, s.down = newCable(t, "relay"), newCable(t, "client")
	s.out, s.in = newCable(t, "node"), newCable(t, "relay")
	s.client, s.relay, s.at = newParty(t, "client", false, s.up), newParty(t, "relay", seals, s.out), newParty(t, "node", seals, s.in)
	cfg := HopConfig{Conduit: session{s.down}, MaxTunnels: 10, BufferBytes: 4 << 20}
	if change != nil {
		change(&cfg)
	}
	s.hop = s.relay.engine.NewHop(cfg)
	s.up.hear = func(k wire.Kind, body []byte) { s.hop.Handle(k, body) }
	s.down.hear = func(k wire.Kind, body []byte) { s.client.hears[k](s.up, body) }
	s.out.hear = func(k wire.Kind, body []byte) { s.at.hears[k](s.in, body) }
	s.in.hear = func(k wire.Kind, body []byte) { s.relay.hears[k](s.out, body) }
	member := &cluster.Member{ID: 77, Peer: "node", Incarnation: 3, MaxMessage: 4 << 20}
	s.client.ask = func(a request.Ask) (request.Answer, error) { // what a relay does
		splice, tail, err := s.hop.Open("pipe", tailOf(a.Message.Body))
		if err != nil {
			return request.Answer{}, err
		}
		body, err := s.at.engine.accept(s.handler, patterns.TunnelInfo{Open: patterns.Message{Body: bodyOf(tail)}}, time.Time{}, Arrival{
			Server: s.at, Link: s.in, Session: 1, SenderIncarnation: 3, Sealed: seals,
		})
		if err != nil {
			splice.Abandon()
			return request.Answer{}, err
		}
		tail, err = splice.Opened(request.Answer{Member: member, Session: 1}, tailOf(body))
		return request.Answer{Message: patterns.Message{Body: bodyOf(tail)}, Member: member, Session: 1}, err
	}
	s.at.ask = func(a request.Ask) (request.Answer, error) {
		splice, tail, err := s.hop.Deliver(Arrival{
			Server: s.relay, Link: s.out, From: "node", Session: 1, SenderIncarnation: 3, Sealed: seals, Tail: tailOf(a.Message.Body),
		})
		if err != nil {
			return request.Answer{}, err
		}
		body, err := s.client.engine.accept(s.handler, patterns.TunnelInfo{Open: patterns.Message{Body: bodyOf(tail)}}, time.Time{}, Arrival{
			Server: s.client, Link: s.up, Session: 1,
		})
		if err != nil {
			splice.Abandon()
			return request.Answer{}, err
		}
		if tail, err = splice.Served(tailOf(body)); err != nil {
			return request.Answer{}, err
		}
		return request.Answer{
			Message: patterns.Message{Body: bodyOf(tail)}, Session: 1,
			Member: &cluster.Member{ID: 77, Peer: "relay", Incarnation: 3, MaxMessage: 4 << 20},
		}, nil
	}
	return s
}

// echoes is echo, for the tests of this package.
func echoes(ctx context.Context, t patterns.Tunnel) error {
	for {
		var body bytes.Buffer
		if _, err := t.ReceiveTo(ctx, &body); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := t.Send(ctx, body.Bytes()); err != nil {
			return err
		}
	}
}

func tailOf(body []byte) []byte { return append(wire.AppendHeaders(nil, nil), body...) }

func bodyOf(tail []byte) []byte {
	if tail == nil {
		return nil
	}
	_, body, err := wire.DecodeHeaders(bytes.Clone(tail))
	if err != nil {
		panic(err)
	}
	return body
}

func (s *spliced) opener() *party {
	if s.served {
		return s.at
	}
	return s.client
}

func (s *spliced) open() *Tunnel {
	t, err := s.opener().engine.Open(context.Background(), "pipe", patterns.Message{Body: []byte("hello")}, patterns.RequestOptions{})
	require.NoError(s.t, err)
	return t.(*Tunnel)
}

// requireNothingLeft checks that nobody keeps anything of any tunnel.
func (s *spliced) requireNothingLeft() {
	s.t.Helper()
	synctest.Wait()
	requireIdle(s.t, s.client, s.relay, s.at)
	require.Empty(s.t, s.hop.remote.opened)
	require.Empty(s.t, s.hop.remote.served)
	require.Zero(s.t, s.hop.budget.Used())
	require.Zero(s.t, s.hop.Status())
}

func TestASplicedTunnelCarriesMessagesBothWaysAndEndsInGoodOrder(t *testing.T) {
	// This test sends messages of all sizes there and back, several tunnels at
	// once, ends them, and finds nothing left at the client, the relay, the node.
	inSplice(t, nil, func(t *testing.T, s *spliced) {
		severalRoundTrips(t, s.open)
		s.requireNothingLeft()
		for _, p := range []*party{s.client, s.relay, s.at} {
			require.Empty(t, p.engine.Drops())
		}
	})
}

// roundTrips sends messages of all sizes, has them back and ends the tunnel.
func roundTrips(tunnel *Tunnel, seed int) error {
	rng := rand.New(rand.NewPCG(1, uint64(seed)))
	for _, size := range []int{0, 1, 1000, 64 << 10, 65<<10 + 1, 3 << 20, 10} {
		sent := make([]byte, size)
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		failed := make(chan error, 1)
		go func() { failed <- tunnel.Send(context.Background(), sent) }()
		var got bytes.Buffer
		if _, err := tunnel.ReceiveTo(context.Background(), &got); err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
		if err := <-failed; err != nil || !bytes.Equal(sent, got.Bytes()) {
			return fmt.Errorf("%d bytes are others: %w", size, err)
		}
	}
	if err := tunnel.CloseSend(); err != nil {
		return err
	}
	if _, err := tunnel.Receive(context.Background()); err != io.EOF {
		return fmt.Errorf("the end, not %w", err)
	}
	<-tunnel.Done()
	return tunnel.Err()
}

// severalRoundTrips does that with several tunnels at once.
func severalRoundTrips(t *testing.T, open func() *Tunnel) {
	t.Helper()
	result := make(chan error, 3)
	for i := range 3 {
		go func() { result <- roundTrips(open(), i) }()
	}
	for range 3 {
		require.NoError(t, <-result)
	}
}

// detaches is a handler that leaves its tunnel open, and does not read.
func detaches(_ context.Context, t patterns.Tunnel) error {
	t.(*Tunnel).Detach()
	return nil
}

// pair opens a tunnel whose member's end is the test's.
func pair(h *handler, open func() *Tunnel) (opener, member *Tunnel) {
	members := make(chan *Tunnel, 1)
	was := *h
	*h = func(ctx context.Context, t patterns.Tunnel) error {
		_ = detaches(ctx, t)
		members <- t.(*Tunnel)
		return nil
	}
	opener, member = open(), <-members
	*h = was
	synctest.Wait()
	return opener, member
}

// cutShort drains for a second, in which tunnels do not end.
func cutShort(t *testing.T, drain func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	require.ErrorIs(t, drain(ctx), context.DeadlineExceeded)
}

// requireEnded waits for both ends of a tunnel, and checks how they ended.
func requireEnded(t *testing.T, opener *Tunnel, opened string, member *Tunnel, accepted string) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, opened, ended(opener.Err()))
	require.Equal(t, accepted, ended(member.Err()))
	<-opener.Done()
	<-member.Done()
}

func TestASplicePassesOnHowATunnelEnds(t *testing.T) {
	// This test ends tunnels from either end, at the relay, and with either
	// session: each end learns how, and nothing is left.
	interrupted, closed := patterns.ErrInterrupted.Error(), patterns.ErrClosed.Error()
	for name, c := range map[string]struct {
		do             func(s *spliced, opener, member *Tunnel)
		opener, member string
	}{
		"the opener resets": {func(_ *spliced, o, _ *Tunnel) { _ = o.Reset(7, "enough") }, closed, "7 enough"},
		"the member resets": {func(_ *spliced, _, m *Tunnel) { _ = m.Reset(7, "enough") }, "7 enough", closed},
		"the opener closes": {func(_ *spliced, o, _ *Tunnel) { _ = o.Close() }, "<nil>", "<nil>"},
		"the member closes": {func(_ *spliced, _, m *Tunnel) { _ = m.Close() }, "<nil>", "<nil>"},
		"it is overloaded": {
			func(_ *spliced, _, m *Tunnel) { m.end(wire.CauseOverloaded, patterns.ErrClosed) }, patterns.ErrOverloaded.Error(), closed,
		},
		"the client is lost": {func(s *spliced, _, _ *Tunnel) {
			s.hop.Close()
			s.client.lose()
		}, interrupted, interrupted},
		"the link is lost": {func(s *spliced, _, _ *Tunnel) {
			s.relay.lose()
			s.at.lose()
		}, interrupted, interrupted},
		"the relay is drained": {func(s *spliced, _, _ *Tunnel) { cutShort(s.t, s.relay.engine.Drain) }, interrupted, interrupted},
		"the client is drained": {func(s *spliced, _, _ *Tunnel) {
			cutShort(s.t, s.hop.Drain)
			require.NoError(s.t, s.hop.Drain(context.Background()))
		}, interrupted, interrupted},
		"the relay stops": {func(s *spliced, _, _ *Tunnel) { s.relay.engine.Stop() }, interrupted, interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			inSplice(t, nil, func(t *testing.T, s *spliced) {
				opener, member := pair(&s.handler, s.open)
				require.Equal(t, "hello", string(member.Info().Open.Body))
				c.do(s, opener, member)
				requireEnded(t, opener, c.opener, member, c.member)
				s.requireNothingLeft()
			})
		})
	}
}

func TestASplicePassesBackPressureOn(t *testing.T) {
	// This test has the reader stall, and then the way to it: the writer can send
	// what the windows allow, what stands in line at the relay is bounded by the
	// client's share, and all of it comes when the reader reads.
	const share = 1 << 20
	inSplice(t, func(c *HopConfig) { c.BufferBytes = share }, func(t *testing.T, s *spliced) {
		reader := newStalled()
		s.handler = reader.serve
		tunnel := s.open()
		total := growWindows(t, tunnel)
		stuck := s.out
		if s.served {
			stuck = s.down
		}
		stuck.stick(0)
		sent := reader.goesOnWhile(t, tunnel)
		require.Greater(t, stuck.most, 64<<10)
		require.Less(t, stuck.most, share)
		stuck.stick(256 << 10)
		<-sent
		require.Equal(t, total+stalledBytes, <-reader.sum)
		synctest.Wait()
		require.NoError(t, tunnel.Close())
		s.requireNothingLeft()
	})
}

func TestASpliceRefusesWhatBreaksTheProtocol(t *testing.T) {
	// This test has each side send what none may, or what was not sealed: both
	// ends are told, it is counted at the relay, and another tunnel goes on.
	for _, seals := range []bool{false, true} {
		for _, byClient := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newSpliced(t, false, seals, nil)
				s.handler = detaches
				tunnel := s.open()
				s.handler = echoes
				other := s.open()
				synctest.Wait()
				if byClient {
					s.hop.Handle(wire.KindTunnelData, wire.TunnelData{ID: tunnel.id, Flags: wire.FlagOpener, Payload: make([]byte, credit.FirstWindow)}.AppendTo(nil))
					s.hop.Handle(wire.KindTunnelData, wire.TunnelData{ID: tunnel.id, Flags: wire.FlagOpener, Payload: make([]byte, 1)}.AppendTo(nil))
				} else {
					id := uint64(1)
					s.relay.hears[wire.KindTunnelData](s.out, wire.TunnelData{ID: id, Payload: make([]byte, credit.FirstWindow)}.AppendTo(nil))
					s.relay.hears[wire.KindTunnelData](s.out, wire.TunnelData{ID: id, Payload: make([]byte, 1)}.AppendTo(nil))
				}
				synctest.Wait()
				want, reason := patterns.ErrInterrupted, "violation"
				if seals && !byClient {
					want, reason = patterns.ErrUnauthorized, "forged"
				}
				require.ErrorIs(t, tunnel.Err(), want)
				require.NotZero(t, s.relay.engine.Drops()[reason])
				require.Equal(t, 1, s.at.engine.Status().Served)
				require.NoError(t, roundTrips(other, 1))
				s.requireNothingLeft()
			})
		}
	}
}

func TestAClientHasItsShareOfTunnels(t *testing.T) {
	// This test opens one tunnel more than a client may have, and more than its
	// share of memory allows; a member that refuses, and a relay that drains,
	// leave nothing; an id that is used twice is refused.
	inSplice(t, func(c *HopConfig) { c.MaxTunnels, c.BufferBytes = 2, 1<<20 }, func(t *testing.T, s *spliced) {
		s.handler = detaches
		first, second := s.open(), s.open()
		_, err := s.opener().engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.Error(t, err)
		require.EqualValues(t, 1, s.relay.engine.Drops()["tunnels"])
		if !s.served {
			s.hop.cfg.MaxTunnels = 3
			_, _, err = s.hop.Open("pipe", tailOf(wire.TunnelOpen{ID: first.id, Credit: 1000}.AppendTo(nil)))
			require.ErrorIs(t, err, patterns.ErrTooMany)
			require.EqualValues(t, 1, s.relay.engine.Drops()["duplicate"])
		}
		for _, tunnel := range []*Tunnel{first, second} {
			require.NoError(t, tunnel.Reset(0, ""))
		}
		s.requireNothingLeft()
		s.at.limits.Tunnels, s.client.limits.Tunnels = -1, -1
		_, err = s.opener().engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.Error(t, err)
		s.requireNothingLeft()
		s.hop.Close()
		_, err = s.opener().engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.Error(t, err)
		s.requireNothingLeft()
	})
	inSplice(t, func(c *HopConfig) { c.MaxTunnels, c.BufferBytes = 1000, 100<<10 }, func(t *testing.T, s *spliced) {
		var err error
		for err == nil {
			_, err = s.opener().engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		}
		require.EqualValues(t, 1, s.relay.engine.Drops()["buffer_bytes"])
		require.LessOrEqual(t, s.hop.budget.Used(), 100<<10)
		s.hop.Close()
	})
}

func TestAClientThatIsLostDuringAnOpening(t *testing.T) {
	// This test loses the client while the network is asked: the member that has
	// accepted is told, whichever comes first, and nothing is left.
	for _, answered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSpliced(t, false, false, nil)
			splice, tail, err := s.hop.Open("pipe", tailOf(wire.TunnelOpen{ID: 5, Credit: 1000}.AppendTo(nil)))
			require.NoError(t, err)
			body, err := s.at.engine.accept(s.handler, patterns.TunnelInfo{Open: patterns.Message{Body: bodyOf(tail)}}, time.Time{}, Arrival{Server: s.at, Link: s.in, Session: 1})
			require.NoError(t, err)
			s.hop.Close()
			if answered {
				_, err = splice.Opened(request.Answer{Member: &cluster.Member{ID: 77, Peer: "node"}, Session: 1}, tailOf(body))
				require.ErrorIs(t, err, patterns.ErrInterrupted)
			} else {
				splice.Abandon()
				s.at.lose()
			}
			s.requireNothingLeft()
		})
	}
}

// nowhere is a Conduit that takes everything.
type nowhere struct{}

func (nowhere) Send(overlay.Lane, wire.Kind, ...[]byte) error { return nil }

func (nowhere) SendLater(overlay.Lane, wire.Kind, func(error), ...[]byte) error {
	panic("BUG: there is room")
}

func TestPassingOnCostsNoAllocation(t *testing.T) {
	// This test counts what a chunk costs at a relay, in both directions, credit
	// included.
	r := newRig(t, false)
	r.link.quiet = true
	hop := r.engine.NewHop(HopConfig{Conduit: nowhere{}, MaxTunnels: 1, BufferBytes: 1 << 20})
	splice, tail, err := hop.Open("pipe", tailOf(wire.TunnelOpen{ID: 5, Credit: 1 << 31}.AppendTo(nil)))
	require.NoError(t, err)
	o, err := wire.DecodeTunnelOpen(bodyOf(tail))
	require.NoError(t, err)
	_, err = splice.Opened(request.Answer{Member: &cluster.Member{ID: 1, Peer: farPeer}, Session: 5}, tailOf(wire.TunnelAccept{Credit: 1 << 31}.AppendTo(nil)))
	require.NoError(t, err)
	up := wire.TunnelData{ID: 5, Flags: wire.FlagOpener | wire.FlagLast, Payload: make([]byte, 1000)}.AppendTo(nil)
	down := wire.TunnelData{ID: o.ID, Flags: wire.FlagLast, Payload: make([]byte, 1000)}.AppendTo(nil)
	both := testing.AllocsPerRun(2000, func() {
		hop.Handle(wire.KindTunnelData, up)
		r.hear(wire.KindTunnelData, down)
	})
	if !raced.Enabled {
		require.Less(t, both, 1.0)
	}
	require.Empty(t, r.engine.Drops())
	hop.Close()
	require.Zero(t, r.engine.Status())
}
