// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"net"
	"net/netip"
	"sync"

	"github.com/arke-mesh/arke/relay/internal/peercred"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
)

// doorkeeper runs the door of all listeners.
type doorkeeper struct {
	count *counters

	// Guarded by mu.
	mu     sync.Mutex
	core   *door
	guests map[uint64]net.Conn
	last   uint64
	closed bool
}

func newDoorkeeper(places int, random func(n int) int, c *counters) *doorkeeper {
	return &doorkeeper{count: c, core: newDoor(places, random), guests: make(map[uint64]net.Conn)}
}

// enter takes in a connection, which may be closed from here on to make room for
// another one; leave follows. It is false when the door is closed.
func (k *doorkeeper) enter(conn net.Conn, from source) (id uint64, ok bool) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return 0, false
	}
	k.last++
	id = k.last
	k.guests[id] = conn
	away := k.core.arrived(id, from)
	sent := k.guests[away]
	delete(k.guests, away)
	k.mu.Unlock()
	if sent != nil {
		k.count.drop(dropHandshakeBusy)
		sent.Close()
	}
	return id, true
}

// leave gives the place back. A second time it does nothing.
func (k *doorkeeper) leave(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.core.gone(id)
	delete(k.guests, id)
}

// close closes all who wait, and the door.
func (k *doorkeeper) close() {
	k.mu.Lock()
	k.closed = true
	guests := k.guests
	k.guests = nil
	k.mu.Unlock()
	for _, conn := range guests {
		conn.Close()
	}
}

// sourceOf says who is at the other end.
func sourceOf(conn net.Conn) source {
	if local, ok := unixsock.Of(conn); ok {
		if cred, ok, err := peercred.Of(local); ok && err == nil {
			return source{user: cred.User}
		}
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return source{user: -1, address: tcp.AddrPort().Addr().Unmap().WithZone("")}
	}
	return source{user: -1, address: netip.Addr{}}
}
