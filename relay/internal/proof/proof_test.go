// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"encoding/hex"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/relay/internal/proof"
)

// TestAProofIsGoodForOneThing proves that a proof changes with everything that it is
// about, so that it can't be played back, sent back, or passed on from elsewhere.
func TestAProofIsGoodForOneThing(t *testing.T) {
	const token = "sixteen letters."
	e := proof.Exchange{Client: [32]byte{1}, Relay: [32]byte{2}, Address: "127.0.0.1:4078"}
	seen := map[string]string{}
	note := func(name string, p proof.Proof) {
		t.Helper()
		digits := hex.EncodeToString(p[:])
		require.Empty(t, seen[digits], name)
		seen[digits] = name
	}
	note("the relay's", e.OfRelay(token))
	note("the client's", e.OfClient(token))
	note("another token", e.OfRelay(token+"."))
	for name, change := range map[string]func(*proof.Exchange){
		"the client's bytes": func(e *proof.Exchange) { e.Client[31] = 1 },
		"the relay's bytes":  func(e *proof.Exchange) { e.Relay[31] = 1 },
		"both, exchanged":    func(e *proof.Exchange) { e.Client, e.Relay = e.Relay, e.Client },
		"the port":           func(e *proof.Exchange) { e.Address = "127.0.0.1:4079" },
		"the address":        func(e *proof.Exchange) { e.Address = "[::1]:4078" },
		"no address":         func(e *proof.Exchange) { e.Address = "" },
	} {
		other := e
		change(&other)
		note(name, other.OfRelay(token))
		note(name+", the client's", other.OfClient(token))
	}
	first, again := e.OfRelay(token), e.OfRelay(token)
	require.True(t, proof.Equal(first[:], again[:]))
	theirs := e.OfClient(token)
	require.False(t, proof.Equal(first[:], theirs[:]))
	require.False(t, proof.Equal(nil, theirs[:]))
}

// TestBothSidesNameTheSameAddress proves how an address is written, whatever form
// the system gives it.
func TestBothSidesNameTheSameAddress(t *testing.T) {
	for want, a := range map[string]net.Addr{
		"127.0.0.1:4078": &net.TCPAddr{IP: net.ParseIP("::ffff:127.0.0.1"), Port: 4078},
		"127.0.0.2:1":    &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2).To4(), Port: 1},
		"[::1]:4078":     &net.TCPAddr{IP: net.IPv6loopback, Port: 4078, Zone: "lo"},
		"":               &net.UnixAddr{Name: "/run/arke/relay.sock", Net: "unix"},
	} {
		require.Equal(t, want, proof.Address(a))
	}
}
