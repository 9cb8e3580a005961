// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// silent has so many peers call, on so many streams each, and say nothing, or half a
// frame; certified says whether they have shown a certificate.
func silent(t *testing.T, net *memNet, peers, streams int, certified bool) (all []*rawStream) {
	for i := range peers {
		r := newRaw(t, net, peer.ID(fmt.Sprintf("silent-%d-%v", i, certified)))
		r.transport.uncertified = !certified
		for j := range streams {
			s := r.dial("a")
			if j%2 == 1 {
				// It may be refused by now, as others of the peer are.
				_, _ = s.Write(wire.AppendFrame(nil, wire.LaneCtl, wire.KindHello, make([]byte, 100))[:50])
			}
			all = append(all, s)
		}
	}
	return all
}

// This test proves that peers which call and say nothing keep nobody out who has shown a
// certificate, whether they have one themselves or not, and that those without one are
// gone after a second.
func TestSilentCallersKeepNobodyOut(t *testing.T) {
	for _, certified := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			net := newMemNet()
			a := startNode(t, net, "a")
			held := silent(t, net, 300, 4, certified)
			synctest.Wait()
			require.NotZero(t, a.Drops()["handshake_full"])
			for i := range 30 {
				b := startNode(t, net, peer.ID(fmt.Sprint("honest", i)))
				begin := time.Now()
				b.wait("a")
				require.Less(t, time.Since(begin), time.Second)
			}
			if certified {
				return
			}
			time.Sleep(time.Second)
			synctest.Wait()
			for _, s := range held {
				require.Error(t, s.end())
			}
		})
	}
}

// This test proves that a peer without a certificate leaves nothing behind: no link that
// takes the place of others, and no line of the log for each.
func TestCallersThatAreNotLetInLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, "a", func(c *overlay.Config) { c.Admission = &badge{mine: "good"} })
		before := overlay.LinkCount(a.Overlay)
		for i := range 50 {
			r := newRaw(t, net, peer.ID(fmt.Sprint("uncertified", i)))
			r.transport.uncertified = true
			s := r.dial("a")
			s.control(wire.KindHello, r.hello())
			require.Contains(t, s.goodbye().GetReason(), "not good")
			require.NoError(t, s.CloseWrite())
			synctest.Wait()
		}
		require.Equal(t, before, overlay.LinkCount(a.Overlay))
	})
}

// This test proves that a certificate which came after the connection counts: the peer is
// let in by its Hello.
func TestACertificateInTheHelloLetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, "a", func(c *overlay.Config) { c.Admission = &badge{mine: "good a"} })
		b := startNode(t, net, "b", func(c *overlay.Config) { c.Admission = &badge{mine: "good b"} })
		b.transport.uncertified = true
		b.wait("a")
		synctest.Wait()
		require.Equal(t, "good b", a.NameOf("b"))
	})
}
