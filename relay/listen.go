// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/relay/internal/peercred"
)

// MaxSocketPath is how many bytes a socket's path has at most: what every system can
// bind. Linux takes four more.
const MaxSocketPath = 103

// ListenPrivate opens a unix socket that only this user and root may connect to,
// under the rules of the relay's own: its directory must be safe, a live one is not
// taken over, and closing it removes it.
func ListenPrivate(path string) (net.Listener, error) { return listenUnix(path, Config{}.sharing()) }

// lockedListener gives its path free for another relay when it is closed.
type lockedListener struct {
	net.Listener
	unlock func()
}

// Close implements net.Listener.
func (l *lockedListener) Close() error {
	err := l.Listener.Close()
	l.unlock()
	return err
}

// listenUnix opens the socket. One that a dead relay left behind is removed.
func listenUnix(path string, to sharing) (net.Listener, error) {
	if len(path) > MaxSocketPath {
		return nil, fmt.Errorf("relay: socket path of %d bytes, at most %d: %s", len(path), MaxSocketPath, path)
	}
	if err := prepareDir(filepath.Dir(path), to); err != nil {
		return nil, err
	}
	// The lock decides between two relays that start at once: both would find
	// the old socket dead, and one would remove the other one's new socket.
	unlock, err := lockFile(path + ".lock")
	if errors.Is(err, errLocked) {
		return nil, socketInUse(path)
	}
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	l, err := bindUnix(path, to)
	if err != nil {
		unlock()
		return nil, err
	}
	return &lockedListener{l, sync.OnceFunc(unlock)}, nil
}

func bindUnix(path string, to sharing) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return c.Control(makePrivate) }}
	l, err := private.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	// It opens to the group when it is the right group.
	if to.Group != 0 {
		err = os.Chown(path, -1, to.Group)
	}
	if err == nil {
		err = os.Chmod(path, to.Mode)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("relay: %w", err)
	}
	return l, nil
}

// removeStale makes path free if nobody answers there.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("relay: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%w: %s exists and is not a socket", ErrUnsafeSocket, path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return socketInUse(path)
	}
	// Only a refusal says that nobody listens; a full backlog, for one, is
	// somebody's.
	if !refused(err) {
		return fmt.Errorf("%w: %w", socketInUse(path), err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}

func socketInUse(path string) error {
	return fmt.Errorf("%w: %s: stop that relay, or choose another socket", ErrSocketInUse, path)
}

// prepareDir makes the directory, or checks that nobody but us and root can
// replace what is in it.
func prepareDir(dir string, to sharing) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		mode := to.dirMode()
		if err := os.MkdirAll(dir, mode); err != nil {
			return fmt.Errorf("relay: %w", err)
		}
		if err := os.Chmod(dir, mode); err != nil { // whatever the umask is
			return fmt.Errorf("relay: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%w: others may write to %s: chmod go-w %s", ErrUnsafeSocket, dir, dir)
	}
	if uid := peercred.Owner(info); uid > 0 && uid != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to user %d", ErrUnsafeSocket, dir, uid)
	}
	return nil
}

// listenTCP opens the loopback address.
func listenTCP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	// A name may mean anything.
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("%w: %q is %v", ErrNotLoopback, address, l.Addr())
	}
	return l, nil
}
