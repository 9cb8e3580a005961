// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Network is one network under test: a folder with its key.
type Network struct {
	t   TB
	dir string
	key string // path of the network file
}

// NewNetwork makes a network file with a key of its own.
func NewNetwork(t TB) *Network {
	t.Helper()
	n := &Network{t: t, dir: Folder(t)}
	n.key = filepath.Join(n.dir, "key")
	Run(t, "keygen", "--out", n.key).Ends(0)
	return n
}

// Key returns the path of the network file.
func (n *Network) Key() string { return n.key }

// Folder makes a folder of a short name that lives as long as the test.
func Folder(t TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ak")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// FreePort returns a loopback HOST:PORT on which nobody listens.
func FreePort(t TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Relays starts that many relays, named a, b, c …; the first one is the
// others' seed. It returns when they know each other.
func (n *Network) Relays(count int, options ...RelayOption) []*Relay {
	n.t.Helper()
	relays := []*Relay{n.Relay("a", options...)}
	for i := 1; i < count; i++ {
		with := append([]RelayOption{Seed(relays[0])}, options...)
		relays = append(relays, n.Relay(fmt.Sprintf("%c", 'a'+i), with...))
	}
	Together(n.t, relays...)
	return relays
}

// Together waits until each relay knows of the others.
func Together(t TB, relays ...*Relay) {
	t.Helper()
	Eventually(t, Patience, fmt.Sprintf("that %d relays know each other", len(relays)), func() error {
		for _, r := range relays {
			if err := r.knows(len(relays) - 1); err != nil {
				return err
			}
		}
		return nil
	})
}
