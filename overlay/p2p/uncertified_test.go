// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"net"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
	"github.com/arke-mesh/arke/security"
)

// uncertified makes a connection to h as a new peer of the network that has no
// certificate, as far as TLS goes, and returns its streams.
func uncertified(t *testing.T, h *Host) *mux.Conn {
	t.Helper()
	key := NewKey(t)
	s, err := newSecurer(key.Libp2p(), key.PeerID(), h.admitted, security.AdmissionOID(), func() []byte { return nil }, new(counters), zap.NewNop())
	require.NoError(t, err)
	addr, err := manet.ToNetAddr(ma.StringCast(h.Addrs()[0]))
	require.NoError(t, err)
	raw, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	c, err := s.connect(t.Context(), raw, h.Self(), alpnLink)
	require.NoError(t, err)
	m := mux.New(c, c.below, true, unread{h.held.Holding(h.Self(), unreadOwn, unreadStep), new(counters)})
	t.Cleanup(func() { _ = m.Close() })
	go func() { // what comes is nothing, until it ends
		for {
			if _, err := m.Accept(); err != nil {
				return
			}
		}
	}()
	return m
}

// This test has 300 peers without a certificate hold connections, from the address from
// which certified ones come, to a host that has few places, and checks that they have
// places of their own, of which the host closes those beyond the bound; that the handler
// hears of none of them; and that one has one stream.
func TestPeersWithoutACertificateTakeNoPlaces(t *testing.T) {
	h := shows(t, "good a", "good b", "good c", "good d")
	a := h[0]
	a.current().upgrader.limits.maxConns = 8
	for range 300 {
		uncertified(t, a.Host)
	}
	limits := a.current().upgrader.limits
	count := func() (apart, others int) {
		limits.mu.Lock()
		defer limits.mu.Unlock()
		return limits.uncertified.Len(), limits.conns
	}
	require.Eventually(t, func() bool {
		apart, others := count()
		return apart == maxUncertified && others == 0
	}, time.Minute, time.Millisecond)
	require.GreaterOrEqual(t, a.Counters()["conn_uncertified_evicted"], uint64(300-maxUncertified))
	for _, each := range h[1:] {
		each.joins(a)
	}
	require.Zero(t, a.Counters()["conn_limit"])
	for range 3 {
		require.Equal(t, "up", <-a.events)
	}
	require.Empty(t, a.events)

	c := uncertified(t, a.Host)
	for range 4 {
		s, err := c.OpenLink()
		require.NoError(t, err)
		_, err = s.Write([]byte("hello"))
		require.NoError(t, err)
	}
	require.False(t, (<-a.streams).Certified())
	require.Eventually(t, func() bool { return a.Counters()["stream_uncertified"] == 3 }, time.Minute, time.Millisecond)
	require.Empty(t, a.streams)
}

// This test checks that a peer which shows no certificate that lets it in is no peer that
// a dial has found, whether its id is known or only its address.
func TestAPeerWithoutACertificateIsNotFound(t *testing.T) {
	h := shows(t, "good a", "")
	a, stranger := h[0], h[1]
	for range 2 {
		for _, p := range []peer.ID{stranger.Self(), ""} {
			_, err := a.Connect(t.Context(), overlay.Candidate{Peer: p, Addrs: stranger.Addrs()})
			require.ErrorIs(t, err, overlay.ErrNotAdmitted)
		}
	}
	require.Empty(t, a.events)
}
