// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/rand"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// linked starts a node that has a link to each of the seeds.
func linked(t *testing.T, network security.NetworkFile, dir string, seeds ...*Node) *Node {
	t.Helper()
	c := Config{Network: network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true, DataDir: dir}
	for _, s := range seeds {
		c.Seeds = append(c.Seeds, s.Addrs()[0]+"/p2p/"+s.Self().String())
	}
	n, err := New(c)
	require.NoError(t, err)
	require.NoError(t, n.Start(t.Context()))
	t.Cleanup(func() { _ = n.Close() })
	for _, s := range seeds {
		_, err := n.overlay.Link(s.Self()).Wait(t.Context(), s.Addrs())
		require.NoError(t, err)
	}
	return n
}

// TestBansGoOnAfterARestart proves that a restart says nothing about bans that the node has
// not been told since: one that others have lifted stays lifted though a file still has it,
// and one that is new in the file holds everywhere, whatever was said of it before.
func TestBansGoOnAfterARestart(t *testing.T) {
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	eve, dir := key.PeerID(), filepath.Join(t.TempDir(), "d")
	begin := func(dir string, bans []peer.ID, seeds ...*Node) *Node {
		f := file
		f.Bans = bans
		return linked(t, f, dir, seeds...)
	}
	said := func(n *Node) uint64 { return n.overlay.Statements().Number(wire.Statement_BAN, string(eve)) }
	becomes := func(n *Node, number uint64) {
		t.Helper()
		require.Eventually(t, func() bool { return said(n) == number }, time.Minute, time.Millisecond)
	}
	read := func(n *Node, bans ...peer.ID) {
		f := file
		f.Bans = bans
		require.NoError(t, n.SetKeys(Keys{Network: f}))
	}
	a := begin("", nil)
	b := begin(dir, []peer.ID{eve}, a)
	becomes(a, 1)
	read(a, eve) // which holds already
	read(a)      // lifts it
	becomes(b, 2)
	require.NoError(t, b.Close())

	b = begin(dir, []peer.ID{eve}, a)
	require.EqualValues(t, 2, said(b), "its file is as it was")
	require.True(t, b.rotation.bans.out[eve], "its own file has the last word here")
	require.NoError(t, b.Close())

	b = begin(dir, nil, a)
	require.EqualValues(t, 2, said(b))
	require.NoError(t, b.Close())
	b = begin(dir, []peer.ID{eve}, a)
	becomes(a, 3)
	require.NoError(t, b.Close())
	b = begin(dir, nil, a)
	becomes(a, 4)
	require.NoError(t, b.Close())

	require.NoError(t, os.WriteFile(filepath.Join(dir, bansFile), []byte("rubbish"), 0o600))
	b = begin(dir, nil, a)
	becomes(b, 4)
}

// TestABanThatWasRaisedOftenIsKnownToWhoComes proves that whoever has a key can't keep a ban
// from nodes that start later by raising its number, step by step, beyond what one step may
// be: it holds after a restart and on a new node. Neither can it be raised to the last number.
func TestABanThatWasRaisedOftenIsKnownToWhoComes(t *testing.T) {
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	state := func(n *Node, number uint64) error {
		s := overlay.Statement{Topic: wire.Statement_BAN, Subject: string(key.PeerID()), Number: number}
		n.rotation.bans.prove(&s)
		return n.overlay.Statements().State(s)
	}
	dir := filepath.Join(t.TempDir(), "d")
	a := linked(t, file, dir)
	require.ErrorIs(t, state(a, math.MaxUint64), errRaise)
	const often = 2*maxRaise + 1
	for number := uint64(1); number <= often; number += maxRaise {
		require.NoError(t, state(a, number))
	}
	require.ErrorIs(t, state(a, often+maxRaise+1), errRaise)
	require.NoError(t, a.Close())

	said := func(n *Node) uint64 { return n.overlay.Statements().Number(wire.Statement_BAN, string(key.PeerID())) }
	a = linked(t, file, dir)
	require.EqualValues(t, often, said(a), "after a restart")
	b := linked(t, file, "", a)
	require.Eventually(t, func() bool { return said(b) == often }, time.Minute, time.Millisecond, "on a new node")
}

// TestTheFileOfBansIsReadStrictly proves that what was written is read, and nothing that is
// anything else.
func TestTheFileOfBansIsReadStrictly(t *testing.T) {
	const p = "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp"
	for text, ok := range map[string]bool{
		"":                                      false,
		bansHead:                                true,
		bansHead + "\n":                         true,
		bansHead + "\nfile " + p + "\n":         true,
		bansHead + "\nsaid " + p + " 7 00ff\n":  true,
		bansHead + "\nsaid " + p + " 0 00ff\n":  false,
		bansHead + "\nsaid " + p + " 7 0\n":     false,
		bansHead + "\nsaid " + p + " 7\n":       false,
		bansHead + "\nfile\n":                   false,
		bansHead + "\nfile eve\n":               false,
		bansHead + "\n\n":                       false,
		bansHead + "\nfile " + p + " 7 00\n":    false,
		"arke bans 2\nfile " + p + "\n":         false,
		bansHead + "\nsays " + p + " 7 00ff\n":  false,
		bansHead + "\nsaid " + p + " -7 00ff\n": false,
		bansHead + "\nsaid " + p + " 7 00ff \n": false,
	} {
		r, err := parseBans([]byte(text))
		require.Equal(t, ok, err == nil, "%q: %v", text, err)
		if ok {
			again, err := parseBans(r.encode())
			require.NoError(t, err)
			require.Equal(t, r, again)
		}
	}
}
