// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// places is a listener with room for most connections. One more takes the place of the
// oldest that has no request under way, or of the oldest: whatever silent connections
// and slow readers hold, a health check is answered.
type places struct {
	net.Listener
	most int

	mu   sync.Mutex
	open []*place // guarded by mu; the oldest first
}

// place is one connection.
type place struct {
	net.Conn
	of     *places
	serves bool // guarded by of.mu: a request is under way
}

// Accept implements net.Listener.
func (l *places) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p := &place{Conn: c, of: l}
	if oldest := l.add(p); oldest != nil {
		oldest.Close()
	}
	return p, nil
}

// add returns the connection that must go to make room.
func (l *places) add(p *place) (goes *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		i := slices.IndexFunc(l.open, func(p *place) bool { return !p.serves })
		goes = l.open[max(i, 0)]
	}
	l.open = append(l.open, p)
	return goes
}

// changed is an http.Server's ConnState.
func (l *places) changed(c net.Conn, to http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.(*place).serves = to == http.StateActive
}

// Close implements net.Conn.
func (p *place) Close() error {
	p.of.mu.Lock()
	p.of.open = slices.DeleteFunc(p.of.open, func(other *place) bool { return other == p })
	p.of.mu.Unlock()
	return p.Conn.Close()
}
