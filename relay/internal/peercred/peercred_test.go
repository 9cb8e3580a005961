// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package peercred_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/relay/internal/peercred"
)

// This test checks that the real socket tells our own user and all of our groups,
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

	ours, err := os.Getgroups()
	require.NoError(t, err)
	for _, c := range []net.Conn{client, server} {
		cred, ok, err := peercred.Of(c.(*net.UnixConn))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, os.Geteuid(), cred.User)
		require.Equal(t, os.Getpid(), cred.Process)
		require.Equal(t, os.Getegid(), cred.Groups[0])
		require.ElementsMatch(t, ours, cred.Groups[1:])
		require.True(t, cred.In([]int{-1, os.Getegid()}))
		require.False(t, cred.In([]int{-1}))
		require.False(t, cred.In(nil))
	}
}

// TestTheSocketKnowsWhenItsProcessHasEnded proves that a process that was killed is
// known to be gone, also while its parent does not know yet, and one that lives is
// not.
func TestTheSocketKnowsWhenItsProcessHasEnded(t *testing.T) {
	if path := os.Getenv("PEERCRED_TEST_SOCKET"); path != "" { // this is the other process
		_, _ = net.Dial("unix", path)
		select {}
	}
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell")
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer l.Close()
	other := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), "PEERCRED_TEST_SOCKET="+l.Addr().String())
	require.NoError(t, other.Start())
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()
	gone := peercred.Gone(server.(*net.UnixConn))
	require.NotNil(t, gone)
	require.False(t, gone())
	require.NoError(t, other.Process.Kill())
	require.Eventually(t, gone, 10*time.Second, time.Millisecond, "nobody has waited for it yet")
	_ = other.Wait() // it was killed
	require.True(t, gone())
}
