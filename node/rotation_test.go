// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/security"
)

func TestKeysOfAnEmbeddedNodeChangeWhileItRuns(t *testing.T) {
	// This test gives two nodes a newer file one after the other: requests go on all
	// the while. The file of another network, and one that is none, change nothing.
	text, err := node.NewNetwork("test")
	require.NoError(t, err)
	vault, err := node.NewClusterKeys("vault")
	require.NoError(t, err)
	var keys [2]node.Rotation
	require.Error(t, keys[0].Set(text))
	server := join(t, node.NetworkText(text), node.ClusterKeyText(vault), node.RotatedBy(&keys[0]))
	caller := join(t, node.NetworkText(text), node.ClusterKeyText(vault), node.RotatedBy(&keys[1]), node.Seeds(server.Addrs()...))
	_, err = server.Serve(t.Context(), "vault", arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
		return arke.Message{}, nil
	}))
	require.NoError(t, err)
	_, err = caller.Request(t.Context(), "vault", arke.Message{}, arke.WaitForMember())
	require.NoError(t, err)

	n, err := security.ParseNetworkFile(text)
	require.NoError(t, err)
	n.Keys, err = security.RotateKeys(n.Keys, time.Now(), time.Hour, rand.Reader)
	require.NoError(t, err)
	c, err := security.ParseClusterFile(vault)
	require.NoError(t, err)
	c.Keys, err = security.RotateKeys(c.Keys, time.Now(), time.Hour, rand.Reader)
	require.NoError(t, err)
	for i := range keys {
		require.NoError(t, keys[i].Set(n.Encode(), c.Encode()))
		for range 100 {
			_, err = caller.Request(t.Context(), "vault", arke.Message{})
			require.NoError(t, err)
		}
	}
	other, err := node.NewNetwork("other")
	require.NoError(t, err)
	for _, bad := range [][]byte{nil, other, vault} {
		require.Error(t, keys[0].Set(bad))
	}
	require.Error(t, keys[0].Set(n.Encode(), []byte("hello")))
	_, err = caller.Request(t.Context(), "vault", arke.Message{})
	require.NoError(t, err)
}
