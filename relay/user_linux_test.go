// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay"
)

// This test checks that a relay which is shared takes processes of the users and
// groups that it is shared with, and says so to others; and that the socket and the
// directory that it makes let them in. One that is not shared refuses others even where
// these would let them in.
func TestASharedRelayTakesOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	const user, group = 65533, 4242
	const others = "its owner, user 0, can allow"
	for _, tt := range []struct {
		name    string
		share   relay.Share
		user    int
		groups  []uint32
		refused string // "" = it may attach
	}{
		{"a user", relay.Share{Users: []int{user}}, user, nil, ""},
		{"another user", relay.Share{Users: []int{user}}, user + 1, nil, others},
		{"a group", relay.Share{Groups: []int{group}}, user, []uint32{9, group}, ""},
		{"another group", relay.Share{Groups: []int{group}}, user, []uint32{9}, others},
		{"the socket's group", relay.Share{Group: group}, user, []uint32{group}, ""},
		{"anyone", relay.Share{Anyone: true}, user, nil, ""},
		{"nobody", relay.Share{}, user, nil, "belongs to user 65533"},
	} {
		r, cfg := start(t, func(cfg *relay.Config) { cfg.Share = tt.share })
		made := filepath.Dir(cfg.Socket)
		if tt.name == "nobody" {
			require.NoError(t, os.Chmod(made, 0o755))
			require.NoError(t, os.Chmod(cfg.Socket, 0o666))
		}
		for dir := filepath.Dir(made); dir != os.TempDir(); dir = filepath.Dir(dir) {
			require.NoError(t, os.Chmod(dir, 0o755))
		}
		b := newBinding(t, connectAs(t, tt.user, tt.groups, cfg.Socket))
		if tt.refused == "" {
			b.greet(hello())
			require.Empty(t, r.Status().Drops, tt.name)
			continue
		}
		b.read()
		end := b.goodbye()
		require.Equal(t, wire.EndUser, end.Code, tt.name)
		require.Contains(t, end.Text, tt.refused, tt.name)
		require.Equal(t, map[string]uint64{"refused.user": 1}, r.Status().Drops, tt.name)
		attach(t, cfg.Socket) // we still may
	}
}

// connectAs connects to a socket as a process of another user, in these groups besides
// that user's own.
func connectAs(t *testing.T, uid int, groups []uint32, socket string) net.Conn {
	t.Helper()
	conns := make(chan net.Conn, 1)
	errs := make(chan error, 1)
	go func() {
		// The thread becomes somebody else, and ends with the goroutine,
		// because it stays locked.
		runtime.LockOSThread()
		conn, err := dialAs(uid, groups, socket)
		errs <- err
		conns <- conn
	}()
	require.NoError(t, <-errs)
	conn := <-conns
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

func dialAs(uid int, groups []uint32, socket string) (net.Conn, error) {
	const keep = ^uintptr(0)
	list := append(groups, 0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&list[0])), 0); errno != 0 {
		return nil, errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, keep, uintptr(uid), keep); errno != 0 {
		return nil, errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return nil, errno
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), socket)
	defer f.Close()
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return nil, err
	}
	return net.FileConn(f)
}
