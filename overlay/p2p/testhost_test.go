// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"crypto/rand"
	"testing"

	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// NewNetwork makes a network of its own for a test.
func NewNetwork(t testing.TB) *security.Network {
	t.Helper()
	file, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	n, err := security.NewNetwork(file)
	require.NoError(t, err)
	return n
}

// NewKey makes the identity of a node.
func NewKey(t testing.TB) security.NodeKey {
	t.Helper()
	k, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	return k
}

// NewHost makes a host of the network on a free port of the IPv4 loopback, unless change
// says otherwise, which is not started. The test's end closes it.
func NewHost(t testing.TB, network *security.Network, change ...func(*Config)) *Host {
	t.Helper()
	cfg := Config{Key: NewKey(t), Network: network, Listen: []string{"127.0.0.1:0"}}
	for _, f := range change {
		f(&cfg)
	}
	h, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// questions is the protocol of a host's router.
func questions(h *Host) protocol.ID {
	return protocol.ID("/arke/"+h.cfg.Network.ID().String()) + answerProtocol
}
