// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/test"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

func (t *memTransport) connected() []peer.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []peer.ID
	for p := range t.peers {
		ids = append(ids, p.id)
	}
	return ids
}

func (t *memTransport) dialled() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.dials...)
}

func seeds(addrs ...string) func(*overlay.Config) {
	return func(c *overlay.Config) { c.Seeds = addrs }
}

// This test checks that a node finds its seed when that comes up, and again
// after it was lost.
func TestSeedIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, low, seeds("/mem/B-high"))
		time.Sleep(time.Minute)
		require.Empty(t, a.transport.connected())
		b := startNode(t, net, high)
		time.Sleep(7 * time.Second)
		require.Equal(t, []peer.ID{high}, a.transport.connected())
		b.transport.Disconnect(low)
		time.Sleep(time.Second)
		require.Equal(t, []peer.ID{high}, a.transport.connected())
		require.Empty(t, a.Links(), "links are opened when somebody needs them")
	})
}

// This test checks that candidates can be added at any time, and that dials
// that hang are given up after five seconds.
func TestHangingCandidatesAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := newNode(t, net, low)
		a.transport.hang = make(chan struct{})
		a.AddCandidate(overlay.Candidate{Peer: high, Addrs: []string{"x"}, Source: overlay.SourceLAN})
		a.start()
		synctest.Wait()
		require.Len(t, a.transport.dialled(), 1)
		time.Sleep(5400 * time.Millisecond)
		require.Len(t, a.transport.dialled(), 2)
	})
}

// This test checks that a restarted node finds the network through the peers
// it remembers, without a seed.
func TestPeersAreRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "peers.json")
	id := test.RandPeerIDFatal(t)
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		remember := func(c *overlay.Config) { c.RememberFile = file }
		a := newNode(t, net, low, remember)
		require.NoError(t, a.Start(t.Context()))
		newNodeAt(t, net, id, "/mem/one").start()
		a.wait(id)
		time.Sleep(2 * time.Second)
		require.NoFileExists(t, file, "written now and then")
		time.Sleep(2 * time.Second)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(data), id.String())
		require.NoError(t, os.Remove(file))

		a.AddCandidate(overlay.Candidate{Peer: low, Addrs: []string{"/mem/self"}, Source: overlay.SourcePeer})
		second := test.RandPeerIDFatal(t)
		newNodeAt(t, net, second, "/mem/two").start()
		a.wait(second)
		a.stop()
		data, err = os.ReadFile(file)
		require.NoError(t, err, "written at Close, too")
		require.Equal(t, 2, strings.Count(string(data), `"peer"`))
		require.Less(t, strings.Index(string(data), second.String()), strings.Index(string(data), id.String()), "the latest first")

		a = startNode(t, net, low, remember)
		time.Sleep(time.Second)
		require.ElementsMatch(t, []peer.ID{id, second}, a.transport.connected())
	})
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary files")
}

// This test checks that a file that makes no sense does not keep a node from
// starting.
func TestBrokenRememberedPeersAreIgnored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "peers.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"peers":[{"pe`), 0o600))
	synctest.Test(t, func(t *testing.T) {
		a := startNode(t, newMemNet(), low, func(c *overlay.Config) { c.RememberFile = file })
		require.Equal(t, 1, a.logs.Len())
	})
}
