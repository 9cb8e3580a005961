// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// This test checks that frames of kinds nobody handles are skipped and
// counted, and that the link goes on.
func TestUnknownKindsAreSkipped(t *testing.T) {
	facing(t, func(t *testing.T, a *node, r *raw) {
		s := r.greet(low)
		s.send(63, []byte("from the future"))
		s.send(0, nil)
		s.send(kindA, []byte("known"))
		synctest.Wait()
		require.Equal(t, []string{"known"}, a.bodies())
		require.Equal(t, map[string]uint64{"unknown_kind": 2}, a.Drops())
	})
}

// This test checks that a peer that sends what no node sends has its stream
// reset with a code, is counted, and ends only its own link.
func TestGarbageEndsTheStream(t *testing.T) {
	frame := func(k wire.Kind, body ...byte) []byte { return wire.AppendFrame(nil, wire.LaneCtl, k, body) }
	fragment := func(f wire.Fragment) []byte { return frame(wire.KindFragment, f.AppendTo(nil)...) }
	for name, garbage := range map[string][]byte{
		"length":                  append(binary.BigEndian.AppendUint32(nil, 1<<31), 1),
		"no kind":                 {0, 0, 0, 0, 0},
		"second hello":            frame(wire.KindHello),
		"beat":                    frame(wire.KindBeat, 0xff),
		"beat with absurd clock":  frame(wire.KindBeat, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
		"goodbye":                 frame(wire.KindGoodbye, 0xff),
		"notice":                  frame(wire.KindNotice, 0xff),
		"fragment":                frame(wire.KindFragment, 1, 2),
		"hello in fragments":      fragment(wire.Fragment{First: true, Last: true, Kind: wire.KindHello, Total: 1, Payload: []byte{1}}),
		"http":                    []byte("GET / HTTP/1.1\r\n\r\n"),
		"nothing but zero bytes ": make([]byte, 100),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := newMemNet()
				a, r := startNode(t, net, low), newRaw(t, net, high)
				startNode(t, net, "bystander")
				a.wait("bystander")
				s := r.greet(low)
				_, err := s.Write(garbage)
				require.NoError(t, err)
				require.ErrorContains(t, s.end(), "code 4")
				synctest.Wait()
				require.ErrorIs(t, a.last(high).Err, overlay.ErrProtocol)
				require.Equal(t, uint64(1), a.Drops()["malformed"])
				require.True(t, a.Link("bystander").Up())
			})
		})
	}
}

// This test checks that random bytes instead of a Hello, or after it, lead to
// an end and nothing else.
func TestRandomBytesDoNoHarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a, r := startNode(t, net, high), newRaw(t, net, low)
		for i := range 300 {
			s := r.dial(high)
			if i%2 == 0 {
				s.control(wire.KindHello, r.hello())
				s.expect(wire.KindHello)
			}
			b := make([]byte, rng.IntN(200))
			for j := range b {
				b[j] = byte(rng.Uint32() >> (rng.IntN(4) * 8) & 0x3f)
			}
			if len(b) > 3 {
				b[0], b[1] = 0, 0
			}
			s.Write(b)
			s.CloseWrite()
			s.end()
		}
		time.Sleep(20 * time.Second) // longer than a session lasts without a connection
		require.Empty(t, a.transport.open())
		require.False(t, a.Link(low).Up())
	})
}

// This test checks that a stream that does not say Hello in time is ended, and
// that few such streams are borne.
func TestHelloHasATimeLimit(t *testing.T) {
	facing(t, func(t *testing.T, a *node, r *raw) {
		began := time.Now()
		var silent []*rawStream
		for range 4 {
			silent = append(silent, r.dial(low))
			synctest.Wait()
		}
		require.ErrorContains(t, r.dial(low).end(), "code 7")
		for _, s := range silent {
			require.Error(t, s.end())
		}
		require.Equal(t, 5*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(t, map[string]uint64{"handshake_failed": 4, "handshake_full": 1}, a.Drops())
		require.Empty(t, a.eventsOf(high))
		r.greet(low)
	})
}

// This test checks the limit of a dial whose peer does not answer Hello.
func TestUnansweredHelloFailsTheDial(t *testing.T) {
	facing(t, func(t *testing.T, a *node, _ *raw) {
		began := time.Now()
		_, err := a.Link(high).Wait(t.Context(), nil)
		require.Error(t, err)
		require.Equal(t, 5*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(t, overlay.DialFailed, a.last(high).Type)
		require.Empty(t, a.transport.open())
	})
}

// This test checks that two nodes without a common version say so, whoever
// dials.
func TestNoCommonVersionIsAnAnswer(t *testing.T) {
	future := func(r *raw) *wire.Hello {
		h := r.hello()
		h.VersionMin, h.VersionMax = 2, 9
		return h
	}
	t.Run("the other one dials", func(t *testing.T) {
		facing(t, func(t *testing.T, a *node, r *raw) {
			s := r.dial(low)
			s.control(wire.KindHello, future(r))
			bye := s.goodbye()
			require.Equal(t, uint32(2), bye.GetCode())
			require.Contains(t, bye.GetReason(), "the peer speaks 2 to 9, this node 1 to 1")
			require.ErrorIs(t, s.end(), io.EOF)
			s.CloseWrite()
			synctest.Wait()
			require.Empty(t, a.eventsOf(high))
			require.Empty(t, a.transport.open())
		})
	})
	t.Run("we dial and it answers", func(t *testing.T) {
		facing(t, func(t *testing.T, a *node, r *raw) {
			a.Link(high).Open(nil)
			synctest.Wait()
			r.incoming().control(wire.KindHello, future(r))
			synctest.Wait()
			require.ErrorIs(t, a.last(high).Err, overlay.ErrVersion)
		})
	})
	t.Run("we dial and it refuses", func(t *testing.T) {
		facing(t, func(t *testing.T, a *node, r *raw) {
			ended := make(chan error)
			go func() {
				_, err := a.Link(high).Wait(t.Context(), nil)
				ended <- err
			}()
			synctest.Wait()
			r.incoming().control(wire.KindGoodbye, &wire.Goodbye{Code: 2, Reason: "too old"})
			err := <-ended
			require.ErrorIs(t, err, overlay.ErrVersion)
			require.ErrorContains(t, err, "too old")
		})
	})
}

// twins starts two nodes with one peer id, on a network with a third one.
func twins(t *testing.T) (first, second, third *node) {
	net := newMemNet()
	third = startNode(t, net, low)
	first = newNodeAt(t, net, high, "/mem/first")
	first.start()
	second = newNodeAt(t, net, high, "/mem/second")
	second.start()
	return first, second, third
}

// This test checks that a copied data directory is noticed: the log of the
// node that both reach names it, both are told and log it, the older one
// keeps its link and the younger one gets a telling error.
func TestTwoNodesWithOnePeerIDAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third := twins(t)
		session := first.wait(low).Session()
		_, err := second.Link(low).Wait(t.Context(), nil)
		require.ErrorIs(t, err, overlay.ErrDuplicate)
		synctest.Wait()
		for _, n := range []*node{first, second, third} {
			require.Len(t, n.errors(), 1)
			require.Contains(t, n.errors()[0], "data directory")
		}
		require.Equal(t, session, first.Link(low).Session())
		require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, third.types(high))

		for range 10 { // logged once a minute
			_, err := second.Link(low).Wait(t.Context(), nil)
			require.ErrorIs(t, err, overlay.ErrDuplicate)
		}
		require.Len(t, third.errors(), 1)
		third.send(high, "x")
		synctest.Wait()
		require.Equal(t, []string{"x"}, first.bodies())
	})
}

// This test checks that a node which was started anew is not taken for a
// duplicate, though its former stream was never ended: it is served as soon
// as three intervals have passed without an answer from there.
func TestRestartedNodeReplacesItsFormerSelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third := twins(t)
		first.wait(low)
		synctest.Wait()
		defer first.transport.vanish()()
		for _, s := range first.transport.open() {
			s.out.freeze()
			s.in.freeze()
		}
		old := third.Link(high).Session()
		began := time.Now()
		second.wait(low)
		require.Equal(t, 1200*time.Millisecond, time.Since(began))
		synctest.Wait()
		require.Equal(t, []overlay.PeerEventType{overlay.LinkUp, overlay.LinkSuspect, overlay.LinkDown, overlay.LinkUp}, third.types(high))
		require.Greater(t, third.Link(high).Session(), old)
		third.send(high, "x")
		synctest.Wait()
		require.Equal(t, []string{"x"}, second.bodies())
		require.Empty(t, third.errors())
	})
}

// This test checks that the restarted node does not wait at all if its former
// stream breaks meanwhile.
func TestRestartedNodeIsServedWhenItsFormerStreamBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, _ := twins(t)
		first.wait(low)
		synctest.Wait()
		defer first.transport.vanish()()
		s := first.transport.open()[0]
		s.in.freeze()
		s.out.freeze()
		time.AfterFunc(100*time.Millisecond, func() { s.Reset(0) })
		began := time.Now()
		second.wait(low)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
	})
}

// This test checks that a call from our own peer id is noticed.
func TestCallFromOurOwnPeerIDIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, low)
		twin := net.transport(low, "/mem/twin")
		s, err := twin.Open(t.Context(), low, []string{"/mem/A-low"})
		require.NoError(t, err)
		synctest.Wait()
		r := &raw{t: t, transport: twin}
		require.Equal(t, uint32(3), r.wrap(s).goodbye().GetCode())
		require.Len(t, a.errors(), 1)
		s.CloseWrite()
	})
}

// This test checks that news of the transport about peers without a link do
// nothing.
func TestPeerDownWithoutALinkIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, low)
		h := a.transport.handler()
		h.PeerDown("nobody")
		h.PeerUp("nobody")
		h.PeerDown("nobody")
		synctest.Wait()
		require.Empty(t, a.Links())
		require.Empty(t, a.eventsOf("nobody"))
	})
}

// This test checks that links nobody needs are forgotten when there are many,
// and that whoever kept one can go on using it.
func TestUnusedLinksAreForgotten(t *testing.T) {
	between(t, func(t *testing.T, net *memNet, a, _ *node) {
		kept := a.Link(high)
		held := a.Link("held")
		defer held.Hold()()
		used := a.Link("used")
		startNode(t, net, "used")
		a.wait("used")
		time.Sleep(time.Hour)
		for i := range 2000 {
			a.Link(peer.ID(binary.BigEndian.AppendUint32([]byte("p"), uint32(i))))
		}
		require.NotSame(t, kept, a.Link(high))
		require.Same(t, held, a.Link("held"))
		require.Same(t, used, a.Link("used"))

		s, err := kept.Wait(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, s, kept.Session())
		require.Equal(t, s, a.Link(high).Session())
		_, err = kept.Send(overlay.LaneRPC, kindA, nil)
		require.NoError(t, err)
		require.False(t, kept.Suspect())
		kept.Hold()()
	})
}

// This test checks what a Config must be.
func TestConfigIsChecked(t *testing.T) {
	good := overlay.Config{Seam: overlay.Seam{
		Transport: newMemNet().transport(low, "/mem/a"), Router: noRouter{}, Clock: overlay.NewRealClock(),
		Rand: overlay.NewRealRand(), Exec: overlay.NewWorkers(1),
	}}
	_, err := overlay.New(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*overlay.Config){
		"no clock":           func(c *overlay.Config) { c.Seam.Clock = nil },
		"heartbeat":          func(c *overlay.Config) { c.Heartbeat = time.Millisecond },
		"negative lane":      func(c *overlay.Config) { c.LaneBytes[2] = -1 },
		"message below 64 K": func(c *overlay.Config) { c.MaxMessage = 1 },
		"agent":              func(c *overlay.Config) { c.Agent = string(make([]byte, 1000)) },
	} {
		bad := good
		change(&bad)
		_, err := overlay.New(bad)
		require.ErrorContains(t, err, "overlay: Config.", name)
	}
}

// This test checks that an overlay that was never started can be closed, and
// one that was closed can't be started.
func TestCloseWithoutStart(t *testing.T) {
	n := newNode(t, newMemNet(), low)
	require.NoError(t, n.Close())
	require.NoError(t, n.Close())
	require.True(t, errors.Is(n.Start(t.Context()), overlay.ErrClosed))
	require.NoError(t, n.exec.Close())
}
