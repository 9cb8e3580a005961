// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// TestWhoseRelayIsTrusted proves to whose relays a program attaches, where it was told
// to and where it has looked by itself.
func TestWhoseRelayIsTrusted(t *testing.T) {
	for _, tt := range []struct {
		name string
		who  truster
		uid  int
		want bool
	}{
		{"our own", truster{self: 1000}, 1000, true},
		{"root's", truster{self: 1000}, 0, true},
		{"somebody's", truster{self: 1000}, 1001, false},
		{"somebody's that was named", truster{self: 1000, named: true}, 1001, false},
		{"somebody's who is trusted", truster{self: 1000, users: []int{5, 1001}}, 1001, true},
		{"somebody's, for root", truster{self: 0}, 1001, false},
		{"somebody's that root has named", truster{self: 0, named: true}, 1001, true},
		{"somebody's whom root trusts", truster{self: 0, users: []int{1001}}, 1001, true},
	} {
		require.Equal(t, tt.want, !tt.who.refuses(tt.uid), tt.name)
	}
	for text, p := range map[string]place{
		"":                         {path: "/run/arke", uid: 0, mode: 0o755 | fs.ModeDir},
		"belongs to user 1001":     {path: "/run/arke/relay.sock", uid: 1001, mode: 0o666 | fs.ModeSocket},
		"others may write to /run": {path: "/run", uid: 0, mode: 0o775 | fs.ModeDir},
	} {
		fault := truster{self: 1000}.fault(p)
		require.Contains(t, fault, text)
		require.Equal(t, text == "", fault == "")
	}
	require.Empty(t, truster{self: 1000}.fault(place{path: "/tmp", mode: 0o777 | fs.ModeDir | fs.ModeSticky}), "nobody can replace another's socket there")
	require.Empty(t, truster{self: 1000}.fault(place{path: "s", mode: 0o666 | fs.ModeSocket}), "who may connect is no matter of trust")
	require.Empty(t, truster{self: 1000}.fault(place{path: "gone", uid: -1}))
}

// TestAFoundSocketIsLookedAt proves that a program that was not told where the relay
// is refuses a socket that somebody else owns, or in a directory that others may
// change; and that naming the socket, or trusting its owner, is enough.
func TestAFoundSocketIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Socket: filepath.Join(dir, "s")}
	l, err := net.Listen("unix", cfg.Socket)
	require.NoError(t, err)
	defer l.Close()
	conn, err := net.Dial("unix", cfg.Socket)
	require.NoError(t, err)
	defer conn.Close()
	named := cfg
	named.Named = true

	require.NoError(t, cfg.trust(conn))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.ErrorIs(t, cfg.trust(conn), ErrOwner)
	require.ErrorIs(t, cfg.trust(conn), patterns.ErrUnauthorized)
	require.NoError(t, named.trust(conn))
	require.NoError(t, os.Chmod(dir, 0o755))

	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	for _, path := range []string{cfg.Socket, dir} {
		require.NoError(t, os.Chown(path, 65534, -1))
		require.ErrorContains(t, cfg.trust(conn), "belongs to user 65534")
		require.NoError(t, named.trust(conn))
		trusting := cfg
		trusting.TrustUsers = []int{65534}
		require.NoError(t, trusting.trust(conn))
		require.NoError(t, os.Chown(path, 0, -1))
	}
}

// TestUsersAreNamesOrNumbers proves what a list of trusted users may be.
func TestUsersAreNamesOrNumbers(t *testing.T) {
	ids, err := ParseUsers(" root, 7,," + strconv.Itoa(os.Getuid()))
	require.NoError(t, err)
	require.Equal(t, []int{0, 7, os.Getuid()}, ids)
	ids, err = ParseUsers("")
	require.NoError(t, err)
	require.Empty(t, ids)
	for _, bad := range []string{"nobody-of-this-name", "-1", "root nobody"} {
		_, err = ParseUsers(bad)
		require.ErrorContains(t, err, strconv.Quote(bad))
	}
}

// TestTheMachinesRelayComesSecond proves where a program looks: where it was told to,
// else for a relay of its own user's, else for the machine's. If there is none, the
// user's is where one is expected to be started.
func TestTheMachinesRelayComesSecond(t *testing.T) {
	dir, machine := t.TempDir(), filepath.Join(t.TempDir(), "relay.sock")
	own := DefaultSocket(dir)
	require.Equal(t, own, findSocket("", dir, machine))
	require.NoError(t, os.WriteFile(machine, nil, 0o600))
	require.Equal(t, machine, findSocket("", dir, machine))
	require.Equal(t, "/said", findSocket("/said", dir, machine))
	require.NoError(t, os.MkdirAll(filepath.Dir(own), 0o700))
	require.NoError(t, os.WriteFile(own, nil, 0o600))
	require.Equal(t, own, findSocket("", dir, machine))
	require.Equal(t, own, FindSocket("", dir), "what is there comes before the machine's")
	require.Equal(t, "/run/arke/relay.sock", machineSocket)
}
