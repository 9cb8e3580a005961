// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"net"
	"net/netip"
)

// How much of an address says whose it is, in bits: who has one address of a
// network has the others.
const (
	sourceBits4 = 24
	sourceBits6 = 48
)

// sourceOf is where a connection comes from, for fairness.
func sourceOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := sourceBits6
	if addr.Is4() {
		bits = sourceBits4
	}
	prefix, _ := addr.Prefix(bits)
	return prefix
}
