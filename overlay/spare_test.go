// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// spareCrowd is more peers than a node keeps links to without need.
const spareCrowd = 16

// crowd returns a node to which many others have linked.
func crowd(t *testing.T) (hub *node, others []*node) {
	// Timers of bubbles confuse the race detector if there are two Ps: Go issue 78156.
	if raced.Enabled {
		before := runtime.GOMAXPROCS(1)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
	net := newMemNet()
	hub = startNode(t, net, "hub")
	for i := range spareCrowd {
		n := startNode(t, net, peer.ID(fmt.Sprintf("n%02d", i)))
		n.wait("hub")
		others = append(others, n)
	}
	for _, a := range others { // each has as many links as anybody: the hub's is the oldest
		for _, b := range others {
			if a.Self() < b.Self() {
				a.wait(b.Self())
			}
		}
	}
	return hub, others
}

// withoutTheHub lists who has lost its link to the hub after a while in which nobody has
// needed any.
func withoutTheHub(t *testing.T) (gone []int) {
	synctest.Test(t, func(t *testing.T) {
		_, others := crowd(t)
		time.Sleep(time.Minute)
		for i, n := range others {
			if !n.Link("hub").Up() {
				gone = append(gone, i)
			}
		}
	})
	require.Greater(t, len(gone), 2)
	return gone
}

func (n *node) linksUp() (up int) {
	for _, l := range n.Links() {
		if l.State == "up" {
			up++
		}
	}
	return up
}

// This test proves that a node through which many have joined does not keep a link to
// each of them, that nobody is called lost for it, and that such a link can be opened
// again and carries frames.
func TestLinksThatNeitherSideNeedsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, others := crowd(t)
		require.Equal(t, spareCrowd, hub.linksUp())
		time.Sleep(time.Minute)
		synctest.Wait()
		ends := hub.linksUp()
		require.Less(t, ends, spareCrowd)
		for _, n := range others {
			require.GreaterOrEqual(t, n.linksUp(), 4, "it may need one again as the peer ends it")
			ends += n.linksUp()
			require.Empty(t, n.logs.FilterMessage("peer left").All())
			require.Empty(t, n.logs.FilterMessage("peer lost").All())
		}
		require.LessOrEqual(t, ends, 2*8*(spareCrowd+1), "each link is one of the eight that one of its sides keeps")

		gone := 0
		for _, e := range hub.events {
			if e.Type == overlay.LinkDown {
				require.ErrorIs(t, e.Err, overlay.ErrSpare)
				require.ErrorIs(t, e.Err, overlay.ErrGoodbye)
				gone++
			}
			require.NotEqual(t, overlay.LinkSuspect, e.Type)
		}
		require.Equal(t, spareCrowd-hub.linksUp(), gone)

		for _, n := range others {
			l := n.wait("hub")
			_, err := l.Send(overlay.LaneRPC, kindA, []byte("hello"))
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Len(t, hub.got, spareCrowd)
	})
}

// This test proves that a link that would end stays as long as one side needs it, holds it,
// or says something on it, whichever side that is.
func TestALinkThatOneSideNeedsStays(t *testing.T) {
	gone := withoutTheHub(t)
	for name, use := range map[string]func(l *overlay.Link) (release func()){
		"held":   (*overlay.Link).Hold,
		"needed": (*overlay.Link).Need,
		"in use": func(l *overlay.Link) func() {
			over := make(chan struct{})
			go func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(4 * time.Second):
						_, _ = l.Send(overlay.LaneRPC, kindA, nil)
					}
				}
			}()
			return func() { close(over) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub, others := crowd(t)
				a, b := others[gone[0]], others[gone[1]]
				releaseA, releaseB := use(hub.Link(a.Self())), use(b.Link("hub"))
				toA, toB := hub.Link(a.Self()).Session(), b.Link("hub").Session()
				time.Sleep(5 * time.Minute)
				require.Equal(t, toA, hub.Link(a.Self()).Session())
				require.Equal(t, toB, b.Link("hub").Session())
				releaseA()
				releaseB()
			})
		})
	}
}

// This test proves that whoever needs a link again after both have said that they do
// not is heard before it ends.
func TestWhoNeedsALinkAgainKeepsIt(t *testing.T) {
	gone := withoutTheHub(t)
	synctest.Test(t, func(t *testing.T) {
		_, others := crowd(t)
		l := others[gone[0]].Link("hub")
		session := l.Session()
		time.Sleep(13 * time.Second) // the first words have been said
		require.Equal(t, session, l.Session())
		defer l.Need()()
		time.Sleep(time.Minute)
		require.Equal(t, session, l.Session())
	})
}

// This test proves that a small network keeps all its links.
func TestASmallNetworkKeepsItsLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		hub := startNode(t, net, "hub")
		for i := range 8 {
			startNode(t, net, peer.ID(fmt.Sprintf("n%02d", i))).wait("hub")
		}
		time.Sleep(10 * time.Minute)
		require.Equal(t, 8, hub.linksUp())
	})
}

// This test proves that a word on the need of a link that is none is dropped and counted.
func TestAWordThatIsNoneChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a, b := startNode(t, net, "a"), startNode(t, net, "b")
		l := a.wait("b")
		for _, body := range [][]byte{nil, {65}, {1, 1}} {
			_, err := l.Send(overlay.LaneCtl, wire.KindSpare, body)
			require.NoError(t, err)
		}
		synctest.Wait()
		require.EqualValues(t, 3, b.Drops()["spare_malformed"])
	})
}
