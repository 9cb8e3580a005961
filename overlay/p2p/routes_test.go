// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// doorkept is a host above which somebody decides who takes part in routing.
type doorkept struct {
	*Host
	t *testing.T
	events
	streams chan overlay.Stream
	asked   atomic.Int64 // questions of others; counted where count was called

	mu          sync.Mutex
	certificate string // what it shows
	badge       string // with which certificates begin that it takes
}

func (d *doorkept) HandleStream(s overlay.Stream) { d.streams <- s }

func (d *doorkept) Certificate() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []byte(d.certificate)
}

func (d *doorkept) Routes(_ peer.ID, certificate []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.HasPrefix(string(certificate), d.badge)
}

// change has it show another certificate, and take others than before.
func (d *doorkept) change(certificate, badge string) {
	d.mu.Lock()
	d.certificate, d.badge = certificate, badge
	d.mu.Unlock()
	require.NoError(d.t, d.Review())
}

// count has it count who asks it, and answer nobody.
func (d *doorkept) count() {
	d.current().host.SetStreamHandler(questions(d.Host), func(s network.Stream) {
		d.asked.Add(1)
		_ = s.Reset()
	})
}

func (d *doorkept) joins(to *doorkept) {
	d.t.Helper()
	_, err := d.Connect(d.t.Context(), overlay.Candidate{Peer: to.Self(), Addrs: to.Addrs()})
	require.NoError(d.t, err)
}

// cut waits, after do, until the connections that these had with each other before are
// gone, at both ends. There may be others by then: who is in a table is dialled.
func cut(t *testing.T, do func(), among ...*doorkept) {
	t.Helper()
	type end struct {
		of, to *doorkept
		conn   network.Conn
	}
	var ends []end
	for _, of := range among {
		for _, to := range among {
			for _, c := range of.current().swarm.ConnsToPeer(to.Self()) {
				ends = append(ends, end{of, to, c})
			}
		}
	}
	do()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(ends, func(e end) bool {
			return slices.Contains(e.of.current().swarm.ConnsToPeer(e.to.Self()), e.conn)
		})
	}, time.Minute, time.Millisecond)
}

func (d *doorkept) connected(to *doorkept) bool {
	return d.current().swarm.Connectedness(to.Self()) == network.Connected
}

func (d *doorkept) knows(others ...*doorkept) bool {
	x := d.router.running.Load()
	return x.table.Size() == len(others) && !slices.ContainsFunc(others, func(o *doorkept) bool { return x.table.Find(o.Self()) == "" })
}

// named asks another one for the peers next to a third one.
func (d *doorkept) named(by, key *doorkept) ([]peer.ID, error) {
	ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Second)
	defer cancel()
	infos, err := d.router.running.Load().messenger.GetClosestPeers(ctx, by.Self(), key.Self())
	var ids []peer.ID
	for _, i := range infos {
		ids = append(ids, i.ID)
	}
	return ids, err
}

// shows runs hosts of one network that show these certificates, and take those that are good.
func shows(t *testing.T, certificates ...string) (hosts []*doorkept) {
	t.Helper()
	n := NewNetwork(t)
	for _, c := range certificates {
		h := NewHost(t, n)
		d := &doorkept{Host: h, t: t, events: make(events, 1000), streams: make(chan overlay.Stream, 10), certificate: c}
		if strings.HasPrefix(c, "good") {
			d.badge = "good"
		}
		require.NoError(t, h.Start(d))
		hosts = append(hosts, d)
	}
	return hosts
}

// This test checks that a peer which holds the network's key, and shows no certificate
// that lets it in, is in no routing table, is not answered, not asked and not
// named, while those who have one know each other as soon as ever; and that it
// may open a link, to be told why.
func TestWhoHasNoCertificateTakesNoPartInRouting(t *testing.T) {
	for name, certificate := range map[string]string{
		"none": "", "another one": "bad", "too long": "good" + strings.Repeat("x", security.MaxCertificate),
	} {
		t.Run(name, func(t *testing.T) {
			h := shows(t, "good a", "good b", "good c", certificate)
			a, b, c, stranger := h[0], h[1], h[2], h[3]
			stranger.change(certificate, "")
			stranger.count()
			for _, each := range []*doorkept{a, b, c} {
				stranger.joins(each)
			}
			b.joins(a)
			c.joins(a)
			require.Eventually(t, func() bool { return a.knows(b, c) && b.knows(a, c) && c.knows(a, b) }, time.Minute, time.Millisecond)
			for _, each := range []*doorkept{a, b, c} {
				require.True(t, each.connected(stranger))
				_, err := each.named(stranger, stranger)
				require.Error(t, err, "it is not asked")
				_, err = stranger.named(each, a)
				require.Error(t, err, "it is not answered")
			}
			names, err := b.named(a, stranger)
			require.NoError(t, err)
			require.Contains(t, names, c.Self())
			require.NotContains(t, names, stranger.Self())
			near, err := b.Router().Closest(t.Context(), overlay.Key{1}, 10)
			require.NoError(t, err)
			require.ElementsMatch(t, []peer.ID{a.Self(), b.Self(), c.Self()}, near)
			require.Zero(t, stranger.asked.Load())
			require.Zero(t, stranger.Router().Size())
			require.NotZero(t, a.Counters()["router_refused"])

			s, err := stranger.Open(t.Context(), a.Self(), nil)
			require.NoError(t, err)
			_, err = s.Write([]byte("hello"))
			require.NoError(t, err)
			require.Equal(t, stranger.Self(), (<-a.streams).Remote())
		})
	}
}

// This test checks that a peer whose certificate is taken back while it is in the
// tables is out of them at once, and stays out when it calls again; and that it is back
// when it shows one that is good.
func TestWhoseCertificateIsTakenBackLeavesTheTables(t *testing.T) {
	h := shows(t, "good a", "good b", "good but stolen")
	a, b, thief := h[0], h[1], h[2]
	thief.change("good but stolen", "")
	b.joins(a)
	thief.joins(a)
	thief.joins(b)
	require.Eventually(t, func() bool { return a.knows(b, thief) && b.knows(a, thief) && thief.knows(a, b) }, time.Minute, time.Millisecond)
	before := append(a.current().swarm.Conns(), b.current().swarm.Conns()...)
	cut(t, func() {
		for _, each := range []*doorkept{a, b} {
			each.change("good "+each.Self().String(), "good 1")
			for _, p := range each.router.running.Load().table.ListPeers() { // b may have called a again, which shows the new one
				conns := each.current().swarm.ConnsToPeer(p)
				require.False(t, len(conns) > 0 && !slices.ContainsFunc(conns, func(c network.Conn) bool { return !slices.Contains(before, c) }),
					"a connection shows what it has shown")
			}
		}
	}, a, b, thief)
	thief.count()
	thief.joins(a)
	thief.joins(b)
	_, err := thief.named(a, b)
	require.Error(t, err)
	cut(t, func() { a.Disconnect(b.Self()) }, a, b) // one made between the changes has shown what is no good now
	b.joins(a)
	require.Eventually(t, func() bool { return a.knows(b) && b.knows(a) }, time.Minute, time.Millisecond)
	require.Zero(t, thief.asked.Load())

	thief.change("good 1 thief", "")
	for _, each := range []*doorkept{a, b} {
		cut(t, func() { each.Disconnect(thief.Self()) }, each, thief)
		thief.joins(each)
	}
	require.Eventually(t, func() bool {
		return a.current().swarm.Connectedness(thief.Self()) == network.Connected && thief.asked.Load() > 0
	},
		20*time.Second, time.Millisecond)
}

// This test checks that a connection on which nothing may be done ends after a while,
// and one that carries a link does not.
func TestConnectionsOfNoUseEnd(t *testing.T) {
	h := shows(t, "good a", "")
	a, stranger := h[0], h[1]
	a.uncertified = 300 * time.Millisecond
	stranger.joins(a)
	require.Eventually(t, func() bool {
		return a.Counters()["conn_uncertified"] == 1 && !a.connected(stranger) && !stranger.connected(a)
	}, time.Minute, time.Millisecond)

	stranger.joins(a)
	s, err := stranger.Open(t.Context(), a.Self(), nil)
	require.NoError(t, err)
	_, err = s.Write([]byte("hello"))
	require.NoError(t, err)
	link := <-a.streams
	time.Sleep(2 * a.uncertified)
	require.True(t, a.connected(stranger), "overlay decides about links")
	require.NoError(t, link.Reset(1))
	require.Eventually(t, func() bool { return !a.connected(stranger) }, time.Minute, time.Millisecond)
}
