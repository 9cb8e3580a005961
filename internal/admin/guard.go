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
	case g.local && foreign(r.Header.Get("Sec-Fetch-Site")):
		http.Error(w, "the admin address does not answer to pages of other origins", http.StatusForbidden)
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

// foreign reports whether a browser asks on behalf of a page of another origin. Other
// programs than browsers send no such header.
func foreign(site string) bool { return site != "" && site != "none" && site != "same-origin" }

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
