// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheOwnerOfASocketIsFound checks that the two ends of a connection are
// told apart, and that both belong to this process.
func TestTheOwnerOfASocketIsFound(t *testing.T) {
	needs(t, Proxies)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()
	ours, theirs := socketOf(client.LocalAddr(), client.RemoteAddr()), socketOf(server.LocalAddr(), server.RemoteAddr())
	require.NotEmpty(t, ours)
	require.NotEmpty(t, theirs)
	require.NotEqual(t, ours, theirs)
	require.True(t, holds(os.Getpid(), ours))
	require.False(t, holds(os.Getpid(), "socket:[0]"))
	require.False(t, holds(os.Getpid(), ""))
	require.False(t, holds(1<<30, ours))
	require.Empty(t, socketOf(client.LocalAddr(), client.LocalAddr()))
}

// FuzzFindSocket checks that no table makes it panic or invent a socket.
func FuzzFindSocket(f *testing.F) {
	f.Add("0: 0100007F:1CE8 0100007F:8000 01 00000000:00000000 00:00000000 00000000 0 0 123 1\n")
	f.Add("sl local rem\n")
	a := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7400}
	b := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 0x8000}
	f.Fuzz(func(t *testing.T, table string) {
		if s := findSocket(strings.NewReader(table), a, b); s != "" {
			require.Contains(t, table, ":1CE8")
			require.Contains(t, table, s[len("socket:["):len(s)-1])
		}
	})
}

// TestASocketTableIsRead checks a line as the kernel writes it.
func TestASocketTableIsRead(t *testing.T) {
	line := "   0: " + tableAddress(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7400}) + " " +
		tableAddress(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 80}) +
		" 01 00000000:00000000 00:00000000 00000000     0        0 1702614 1 0000000000000000\n"
	local, remote := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7400}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 80}
	require.Equal(t, "socket:[1702614]", findSocket(strings.NewReader("head\n"+line), local, remote))
	require.Empty(t, findSocket(strings.NewReader(line), remote, local))
}
