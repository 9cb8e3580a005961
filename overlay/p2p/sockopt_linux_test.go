// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/overlay"
)

// This test checks that the kernel has our options on both ends of a
// connection, which libp2p made and accepted: the options of each TCP socket of
// this process that has a peer.
func TestKernelHasOurOptions(t *testing.T) {
	before := connected(t)
	network := newNetwork(t)
	a, b := start(t, network), start(t, network)
	_, err := a.Connect(within(t), overlay.Candidate{Addrs: b.Addrs()})
	require.NoError(t, err)
	b.want(true, a.Self())
	ends := 0
	for fd, ports := range connected(t) {
		if before[fd] == ports {
			continue
		}
		linear, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS)
		require.NoError(t, err)
		require.Equal(t, 1, linear)
		unsent, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
		require.NoError(t, err)
		require.Equal(t, 128<<10, unsent)
		ends++
	}
	require.GreaterOrEqual(t, ends, 2)
}

// connected returns the TCP sockets of this process that have a peer, by their
// descriptors: the two ports.
func connected(t *testing.T) map[int][2]uint16 {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	found := make(map[int][2]uint16)
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		own, err := unix.Getsockname(fd)
		if err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd)
		if err != nil || !port(own).IsValid() || !port(peer).IsValid() {
			continue
		}
		found[fd] = [2]uint16{port(own).Port(), port(peer).Port()}
	}
	return found
}

func port(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}
