// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

func at(t *testing.T, socket string) *relay.Relay {
	t.Helper()
	r, err := relay.New(relay.Config{Node: lone(t), Socket: socket})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// This test checks that nobody else can reach the socket, and that it is gone
// with the relay.
func TestTheSocketIsTheUsersOwn(t *testing.T) {
	r, cfg := start(t, nil)
	info, err := os.Stat(cfg.Socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(cfg.Socket))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, r.Close())
	require.NoFileExists(t, cfg.Socket)
}

// This test checks that a relay finds its place after one that was killed, and
// does not take the place of one that lives.
func TestOnlyADeadRelaysSocketIsTaken(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	require.FileExists(t, socket)

	first := at(t, socket)
	require.NoError(t, first.Start(t.Context()))
	second := at(t, socket)
	err = second.Start(t.Context())
	require.ErrorIs(t, err, relay.ErrSocketInUse)
	require.ErrorContains(t, err, socket)
	require.ErrorContains(t, err, "choose another socket")
	attach(t, socket) // the first one is unhurt

	require.NoError(t, first.Close())
	require.NoError(t, second.Start(t.Context()), "a Start that failed may be repeated")
	attach(t, socket)
}

// This test checks that a program which is no relay, and so takes no lock, is
// not robbed of its socket either.
func TestALivingSocketWithoutALockIsRespected(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	require.ErrorIs(t, at(t, socket).Start(t.Context()), relay.ErrSocketInUse)
}

// This test checks that of many relays which start at once beside a dead
// socket exactly one gets it.
func TestOneOfManyRelaysGetsTheSocket(t *testing.T) {
	for range 10 {
		socket := filepath.Join(t.TempDir(), "s")
		dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
		require.NoError(t, err)
		dead.SetUnlinkOnClose(false)
		require.NoError(t, dead.Close())

		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			r := at(t, socket)
			wg.Go(func() { errs[i] = r.Start(t.Context()) })
		}
		wg.Wait()
		started := 0
		for _, err := range errs {
			if err == nil {
				started++
				continue
			}
			require.ErrorIs(t, err, relay.ErrSocketInUse)
		}
		require.Equal(t, 1, started)
		attach(t, socket)
	}
}

// This test checks that a place where others could put a socket of their own
// is refused, and what to do is said.
func TestAnUnsafePlaceIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	err := at(t, filepath.Join(dir, "s")).Start(t.Context())
	require.ErrorIs(t, err, relay.ErrUnsafeSocket)
	require.ErrorContains(t, err, "chmod go-w "+dir)

	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	require.NoError(t, at(t, filepath.Join(dir, "s")).Start(t.Context()), "like /tmp")

	dir = t.TempDir()
	file := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.ErrorIs(t, at(t, file).Start(t.Context()), relay.ErrUnsafeSocket)
	require.FileExists(t, file)

	long := filepath.Join(dir, strings.Repeat("x", 108))
	require.ErrorContains(t, at(t, long).Start(t.Context()), "socket path of")
}

// This test checks that the unencrypted protocol never leaves the machine, and
// is not open to its other users.
func TestOnlyLoopbackWithATokenIsAccepted(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1"} {
		_, err := relay.New(relay.Config{Node: lone(t), Listen: address, Tokens: []relay.Token{{Secret: letters}}})
		require.Error(t, err, address)
		if address != "127.0.0.1" {
			require.ErrorIs(t, err, relay.ErrNotLoopback, address)
		}
	}
	_, err := relay.New(relay.Config{Node: lone(t), Listen: "127.0.0.1:0"})
	require.ErrorIs(t, err, relay.ErrNoToken)

	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		r, err := relay.New(relay.Config{Node: lone(t), Listen: address, Tokens: []relay.Token{{Secret: letters}}})
		require.NoError(t, err)
		require.NoError(t, r.Start(t.Context()))
		host, _, err := net.SplitHostPort(r.Addr())
		require.NoError(t, err)
		require.True(t, net.ParseIP(host).IsLoopback())
		require.NoError(t, r.Close())
	}
}

// This test checks what New refuses.
func TestAConfigWithoutSenseIsRefused(t *testing.T) {
	n := lone(t)
	for name, cfg := range map[string]relay.Config{
		"no node":        {Socket: "s"},
		"no place":       {Node: n},
		"negative limit": {Node: n, Socket: "s", Limits: relay.Limits{Requests: -1}},
		"negative time":  {Node: n, Socket: "s", Limits: relay.Limits{Stall: -1}},
		"long agent":     {Node: n, Socket: "s", Agent: strings.Repeat("x", 256)},
	} {
		_, err := relay.New(cfg)
		require.Error(t, err, name)
	}
}

// This test checks the life of a relay: it starts once, closes twice, and does
// not come back.
func TestCloseIsIdempotentAndFinal(t *testing.T) {
	r, cfg := start(t, nil)
	require.Error(t, r.Start(t.Context()))
	b := attach(t, cfg.Socket)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	b.expectEnd()
	require.ErrorIs(t, r.Start(t.Context()), patterns.ErrClosed)

	never := at(t, cfg.Socket)
	require.NoError(t, never.Close())
	require.NoError(t, never.Shutdown(t.Context()))
}
