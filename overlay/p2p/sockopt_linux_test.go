// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"errors"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// This test checks that the kernel has our options on both ends of a
// connection, which libp2p made and accepted: the options of each TCP socket of
// this process that has a peer.
func TestKernelHasOurOptions(t *testing.T) {
	before := connected(t)
	a, b := two(t)
	connect(t, a, b)
	ends := 0
	for fd, ports := range connected(t) {
		if before[fd] == ports {
			continue
		}
		for option, want := range map[int]int{
			unix.TCP_NOTSENT_LOWAT:        128 << 10,
			unix.TCP_THIN_LINEAR_TIMEOUTS: 1,
			unix.TCP_USER_TIMEOUT:         30_000,
			unix.TCP_RTO_MAX_MS:           1000,
		} {
			got, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, option)
			if errors.Is(err, unix.ENOPROTOOPT) && option == unix.TCP_RTO_MAX_MS {
				continue // an older kernel
			}
			require.NoError(t, err)
			require.Equal(t, want, got, option)
		}
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
