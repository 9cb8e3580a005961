// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// guard lets through who may ask.
type guard struct {
	token string // "" = none is asked for
	local bool   // the request must name a loopback host
	next  http.Handler
}

// ServeHTTP implements http.Handler.
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case g.token != "" && !g.holds(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the admin address asks for its token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
	case g.local && !isLoopback(hostOf(r.Host)):
		http.Error(w, "name the admin address by a loopback address, or localhost", http.StatusForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// holds compares in constant time, also of tokens of different lengths.
func (g guard) holds(r *http.Request) bool {
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok
}

// hostOf returns the host without a port.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// isLoopback says whether only this machine is meant.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// limited accepts no more connections while so many are open.
func limited(l net.Listener, most int) net.Listener {
	return &bounded{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

// bounded is a listener with a bound.
type bounded struct {
	net.Listener
	slots  chan struct{} // holds one for each open connection
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-b.slots })}, nil
}

// Close implements net.Listener.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
