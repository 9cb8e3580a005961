// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
)

// Tap stands between two sides of a connection and records what the one that
// dials says, so that it can be said again with mistakes. It can be cut.
type Tap struct {
	listener net.Listener
	network  string
	target   string
	wg       sync.WaitGroup

	mu sync.Mutex
	// Guarded by mu.
	heard []byte
	conns []net.Conn
}

// TapSocket listens on a unix socket in front of the relay's own.
func TapSocket(t TB, r *Relay) *Tap {
	t.Helper()
	return newTap(t, "unix", filepath.Join(Folder(t), "tap"), r.Socket())
}

// TapPort listens on a TCP port in front of the relay's port for nodes.
func TapPort(t TB, r *Relay) *Tap {
	t.Helper()
	return newTap(t, "tcp", "127.0.0.1:0", r.HostPort())
}

func newTap(t TB, network, addr, target string) *Tap {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatalf("%v", err)
	}
	tap := &Tap{listener: l, network: network, target: target}
	tap.wg.Go(tap.accept)
	t.Cleanup(tap.close)
	return tap
}

// Addr returns the path of the socket, or HOST:PORT.
func (t *Tap) Addr() string { return t.listener.Addr().String() }

// Heard returns everything that was said by those who dialled, so far.
func (t *Tap) Heard() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.heard)
}

func (t *Tap) accept() {
	for {
		in, err := t.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial(t.network, t.target)
		if err != nil {
			in.Close()
			continue
		}
		t.mu.Lock()
		t.conns = append(t.conns, in, out)
		t.mu.Unlock()
		t.wg.Go(func() { _, _ = io.Copy(out, io.TeeReader(in, t)); out.Close() })
		t.wg.Go(func() { _, _ = io.Copy(in, out); in.Close() })
	}
}

// Write records p.
func (t *Tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = append(t.heard, p...)
	return len(p), nil
}

// Cut breaks the connections there are; the two sides can make new ones.
func (t *Tap) Cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.Close()
	}
	t.conns = nil
}

func (t *Tap) close() {
	t.listener.Close()
	t.Cut()
	t.wg.Wait()
}
