// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// withKeys returns networks of one id that hold the given versions of its keys.
func withKeys(t testing.TB, held ...[]uint32) []*security.Network {
	f, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	keys := make(map[uint32]security.KeyVersion)
	var networks []*security.Network
	for _, versions := range held {
		f.Keys = nil
		for _, v := range versions {
			if _, ok := keys[v]; !ok {
				k := security.KeyVersion{Version: v}
				_, err := rand.Read(k.Key[:])
				require.NoError(t, err)
				keys[v] = k
			}
			f.Keys = append(f.Keys, keys[v])
		}
		networks = append(networks, newNetwork(t, f))
	}
	return networks
}

// This test checks that a greeting is accepted by whoever has an accepted key in
// common with who made it, through each step of a change of keys, and by nobody
// else.
func TestGreetingsSurviveAChangeOfKeys(t *testing.T) {
	n := withKeys(t, []uint32{1}, []uint32{1, 2}, []uint32{2, 3}, []uint32{1, 2, 3}, []uint32{3})
	one, oneTwo, twoThree, all, three := n[0], n[1], n[2], n[3], n[4]
	hello := []byte("hello")
	for _, c := range []struct {
		name     string
		from, to *security.Network
		accepted bool
	}{
		{"the same key", one, one, true},
		{"the dialler has the next one already", oneTwo, one, true},
		{"the acceptor has", one, oneTwo, true},
		{"both", oneTwo, oneTwo, true},
		{"the dialler is one change ahead", twoThree, oneTwo, true},
		{"the acceptor is", oneTwo, twoThree, true},
		{"the first key is in the file, but not accepted", all, one, false},
		{"nor does it open anything", one, all, false},
		{"nothing in common", oneTwo, three, false},
		{"the last step", twoThree, three, true},
	} {
		greeting := c.from.Greet(hello)
		_, ok := c.to.CheckGreeting(greeting[:], hello)
		require.Equal(t, c.accepted, ok, c.name)
	}
}

// This test checks that nothing but the greeting of the very bytes is accepted,
// and that what is replayed, with one half changed or not, has the same mark.
func TestGreetingsBindWhatFollows(t *testing.T) {
	n := withKeys(t, []uint32{1, 2}, []uint32{2})
	hello := []byte("hello")
	greeting := n[0].Greet(hello)
	mark, ok := n[0].CheckGreeting(greeting[:], hello)
	require.True(t, ok)

	_, ok = n[0].CheckGreeting(greeting[:], []byte("hellp"))
	require.False(t, ok)
	_, ok = n[0].CheckGreeting(greeting[:31], hello)
	require.False(t, ok)
	for i := range greeting {
		changed := greeting
		changed[i] ^= 1
		again, ok := n[0].CheckGreeting(changed[:], hello)
		require.True(t, ok, "the other half is good")
		require.Equal(t, mark, again)
		changed[(i+16)%32] ^= 1
		_, ok = n[0].CheckGreeting(changed[:], hello)
		require.False(t, ok)
	}

	other := withKeys(t, []uint32{1})[0]
	_, ok = other.CheckGreeting(greeting[:], hello)
	require.False(t, ok, "another network")
	second := n[1].Greet(hello)
	require.False(t, bytes.Equal(greeting[16:], second[16:]), "whoever sees two can't tell what they have in common")
}

// BenchmarkGreetingOfAStranger measures what refusing costs: two keys, and the
// usual size of a ClientHello.
func BenchmarkGreetingOfAStranger(b *testing.B) {
	n := withKeys(b, []uint32{1, 2})[0]
	hello, greeting := make([]byte, 1600), make([]byte, security.GreetingSize)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := n.CheckGreeting(greeting, hello); ok {
			b.Fatal("accepted")
		}
	}
}
