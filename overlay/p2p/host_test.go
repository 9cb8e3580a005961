// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that two hosts connect, each hears of the other, and bytes
// cross a stream in both directions.
func TestTwoHostsEchoOverAStream(t *testing.T) {
	network := newNetwork(t)
	a, b := start(t, network), start(t, network)
	from, err := a.Open(within(t), b.Self(), b.Addrs())
	require.NoError(t, err)
	_, err = from.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, from.CloseWrite())

	to := b.accept()
	require.Equal(t, a.Self(), to.Remote())
	require.False(t, to.Outbound())
	got, err := io.ReadAll(to)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	_, err = to.Write([]byte("world"))
	require.NoError(t, err)
	require.NoError(t, to.CloseWrite())
	got, err = io.ReadAll(from)
	require.NoError(t, err)
	require.Equal(t, "world", string(got))

	require.Equal(t, b.Self(), from.Remote())
	require.Equal(t, b.Addrs()[0], from.RemoteAddr())
	require.True(t, from.Outbound())
	require.NoError(t, from.Close())
	require.NoError(t, to.Close())
	a.want(true, b.Self())
	b.want(true, a.Self())
}
