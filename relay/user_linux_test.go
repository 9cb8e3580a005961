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

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// This test checks that a process of another user is refused even where the
// permissions of the socket would let it in.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	_, cfg := start(t, nil)
	for dir := filepath.Dir(cfg.Socket); dir != os.TempDir(); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	require.NoError(t, os.Chmod(cfg.Socket, 0o666))

	conns := make(chan net.Conn, 1)
	errs := make(chan error, 1)
	go func() {
		// The thread becomes somebody else, and ends with the goroutine,
		// because it stays locked.
		runtime.LockOSThread()
		conn, err := dialAs(65534, cfg.Socket)
		errs <- err
		conns <- conn
	}()
	require.NoError(t, <-errs)
	conn := <-conns
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	b := newBinding(t, conn)
	b.read()
	refused := b.goodbye()
	require.Equal(t, wire.EndUser, refused.Code)
	require.Contains(t, refused.Text, "belongs to user 65534")
	attach(t, cfg.Socket) // we still may
}

func dialAs(uid int, socket string) (net.Conn, error) {
	const keep = ^uintptr(0)
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
