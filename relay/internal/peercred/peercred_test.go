// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package peercred

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks the rule: ours and root's may, and root trusts everybody.
func TestOnlyOurUserAndRootAreTrusted(t *testing.T) {
	require.True(t, trusted(1000, 1000))
	require.True(t, trusted(0, 1000))
	require.True(t, trusted(1000, 0))
	require.False(t, trusted(1001, 1000))
}

// This test checks that the real socket tells our own user from another one,
// seen from both ends.
func TestTheSocketKnowsItsUser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell")
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()

	for _, c := range []net.Conn{client, server} {
		uid, ok, err := lookUp(c.(*net.UnixConn))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, os.Geteuid(), uid)
		require.NoError(t, Check(c.(*net.UnixConn), os.Geteuid()))
		if uid != 0 {
			require.ErrorContains(t, Check(c.(*net.UnixConn), uid+1), "belongs to user")
		}
	}
}
