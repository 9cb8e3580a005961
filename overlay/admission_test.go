// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/nodename"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// badge is an Admission whose certificates are names: those that begin with "good" let
// in.
type badge struct {
	mu   sync.Mutex
	mine string
}

func (b *badge) Certificate() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []byte(b.mine)
}

func (b *badge) show(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mine = name
}

func (b *badge) Admit(_ peer.ID, certificate []byte) (string, error) {
	if bytes.HasPrefix(certificate, []byte("good")) {
		return string(certificate), nil
	}
	return "", errors.New("not good")
}

func (b *badge) Valid(p peer.ID, certificate []byte) (string, error) { return b.Admit(p, certificate) }

// TestAnotherCertificateIsShownOnConnectionsThatStay proves that peers hear of a node's
// next certificate while their connections carry on, and that one which does not let
// it in changes nothing.
func TestAnotherCertificateIsShownOnConnectionsThatStay(t *testing.T) {
	net := newMemNet()
	mine := &badge{mine: "good 1"}
	a := startNode(t, net, "a", func(c *overlay.Config) { c.Admission = mine })
	b := startNode(t, net, "b", func(c *overlay.Config) { c.Admission = &badge{mine: "good b"} })
	before := b.wait("a")
	a.wait("b")
	require.Equal(t, "good 1", b.NameOf("a"))
	streams := len(a.transport.open())

	mine.show("good 2")
	overlay.ShowAnew(a.Overlay)
	require.Eventually(t, func() bool { return b.NameOf("a") == "good 2" }, 10*time.Second, time.Millisecond)
	for _, bad := range []string{"bad", strings.Repeat("x", wire.MaxCertificate+1)} {
		refused := b.Drops()["certificate_refused"]
		mine.show(bad)
		overlay.ShowAnew(a.Overlay)
		require.Eventually(t, func() bool { return b.Drops()["certificate_refused"] > refused }, 10*time.Second, time.Millisecond)
	}
	overlay.Review(b.Overlay)
	require.Equal(t, "good 2", b.NameOf("a"))
	require.True(t, before.Up())
	require.Len(t, a.transport.open(), streams, "no connection was made anew")
	require.Equal(t, overlay.LinkUp, b.last("a").Type)
}

// TestWhoIsTurnedAwayKnowsByWhom proves that a node whom another one does not let in can
// say its name, whichever of them called.
func TestWhoIsTurnedAwayKnowsByWhom(t *testing.T) {
	for _, calls := range []peer.ID{low, high} {
		synctest.Test(t, func(t *testing.T) {
			net := newMemNet()
			strict := startNode(t, net, low, func(c *overlay.Config) { c.Name, c.Admission = "strict", &badge{mine: "good"} })
			without := startNode(t, net, high)
			nodes := map[peer.ID]*node{low: strict, high: without}
			_, err := nodes[calls].Link(map[peer.ID]peer.ID{low: high, high: low}[calls]).Wait(t.Context(), nil)
			require.ErrorIs(t, err, overlay.ErrNotAdmitted)
			synctest.Wait()
			require.EqualError(t, overlay.TurnedAway(without.Overlay),
				nodename.Of("strict", low.String())+` does not let this node in, and says "not good"`)
		})
	}
}
