// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package peercred_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/relay/internal/peercred"
)

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

	self := os.Geteuid()
	for _, c := range []net.Conn{client, server} {
		require.NoError(t, peercred.Check(c.(*net.UnixConn), self))
		err := peercred.Check(c.(*net.UnixConn), self+1)
		if self == 0 {
			require.NoError(t, err, "root may")
		} else {
			require.ErrorContains(t, err, "belongs to user")
		}
	}
}
