// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// local and remote are sources of a test.
func local(user int) source { return source{user: user} }

func remote(address string) source { return source{user: -1, address: netip.MustParseAddr(address)} }

// TestWhoOpensMostIsSentAway proves that a full room sends somebody away of the
// source that has most there, whoever comes, and that the others stay.
func TestWhoOpensMostIsSentAway(t *testing.T) {
	d := newDoor(4, rand.New(rand.NewPCG(1, 2)).IntN)
	for id, user := range []int{1000, 0, 0, 0} {
		require.Zero(t, d.arrived(uint64(id+1), local(user)))
	}
	for id := uint64(5); id < 50; id++ {
		away := d.arrived(id, local(0))
		require.NotZero(t, away)
		require.NotEqualValues(t, 1, away, "the only one of its user")
	}
	require.NotZero(t, d.arrived(50, local(1001)), "there is room for a third user …")
	require.Contains(t, d.in, uint64(50), "… which has it")
	require.Len(t, d.in, 4)
}

// TestTCPTakesNoPlaceOfTheSocket proves that each of the two has places of its own,
// that addresses count apart, and that a place which is given back is free.
func TestTCPTakesNoPlaceOfTheSocket(t *testing.T) {
	d := newDoor(2, rand.New(rand.NewPCG(1, 2)).IntN)
	require.Zero(t, d.arrived(1, remote("127.0.0.1")))
	require.Zero(t, d.arrived(2, remote("127.0.0.1")))
	require.Zero(t, d.arrived(3, local(0)))
	require.Zero(t, d.arrived(4, local(0)))
	require.Contains(t, []uint64{1, 2}, d.arrived(5, remote("127.0.0.2")), "one of the address that has most")
	d.gone(3)
	d.gone(3)
	require.Zero(t, d.arrived(6, local(0)))
	require.NotZero(t, d.arrived(7, local(0)))
	for id := range uint64(8) {
		d.gone(id)
	}
	require.Zero(t, len(d.in)+d.rooms[socketRoom].Len()+d.rooms[portRoom].Len())
}
