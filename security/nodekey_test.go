// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestNodeKeySurvivesItsFile proves that a node keeps its peer id over a
// restart, and that libp2p sees the same key.
func TestNodeKeySurvivesItsFile(t *testing.T) {
	k := newNodeKey(t, "node")
	path := filepath.Join(t.TempDir(), "node.key")
	require.NoError(t, security.WriteNodeKey(path, k))
	got, err := security.LoadNodeKey(path)
	require.NoError(t, err)
	require.Equal(t, k.PeerID(), got.PeerID())
	require.NoError(t, got.PeerID().Validate())
	require.True(t, k.Libp2p().Equals(got.Libp2p()))

	fromLibp2p, err := peer.IDFromPrivateKey(got.Libp2p())
	require.NoError(t, err)
	require.Equal(t, k.PeerID(), fromLibp2p)

	require.NotEqual(t, k.PeerID(), newPeer(t, "other"))
}

// TestMissingNodeKeyIsToldFromABadOne proves that a node can make a key where
// there is none, and never does where there is one that it can't read.
func TestMissingNodeKeyIsToldFromABadOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.key")
	_, err := security.LoadNodeKey(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for what, text := range map[string]string{
		"empty":          "",
		"network file":   "arke-network 1\nname n\nid " + hexID + "\nkey 1 " + hexKey,
		"no seed":        "arke-node-key 1\n",
		"short seed":     "arke-node-key 1\nseed " + hexKey[2:],
		"two seeds":      "arke-node-key 1\nseed " + hexKey + "\nseed " + hexKey2,
		"seed of zeros":  "arke-node-key 1\nseed " + strings.Repeat("0", 64),
		"unknown field":  "arke-node-key 1\nseed " + hexKey + "\nfoo bar",
		"later version":  "arke-node-key 2\nseed " + hexKey,
		"seed and words": "arke-node-key 1\nseed " + hexKey + " x",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := security.LoadNodeKey(path)
		require.ErrorIs(t, err, security.ErrBadFile, what)
		require.ErrorContains(t, err, path)
		require.NotContains(t, err.Error(), "aaaa")
	}
}

// TestZeroNodeKeyIsNoKey proves that an unset key is harmless and can be seen.
func TestZeroNodeKeyIsNoKey(t *testing.T) {
	var k security.NodeKey
	require.True(t, k.IsZero())
	require.Empty(t, k.PeerID())
	require.Nil(t, k.Libp2p())
	path := filepath.Join(t.TempDir(), "node.key")
	require.Error(t, security.WriteNodeKey(path, k))
	require.NoFileExists(t, path)
}

// FuzzLoadNodeKey proves that no text makes the parser panic.
func FuzzLoadNodeKey(f *testing.F) {
	f.Add([]byte("arke-node-key 1\nseed " + hexKey + "\n"))
	path := filepath.Join(f.TempDir(), "node.key")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		k, err := security.LoadNodeKey(path)
		require.Equal(t, err != nil, k.IsZero())
	})
}
