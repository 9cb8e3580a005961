// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// script is an Exec that notes the keys it is given and wakes at once.
type script struct {
	overlay.Exec
	keys []overlay.ExecKey
}

func (s *script) Wake(k overlay.ExecKey, f func()) { s.keys = append(s.keys, k); f() }

func TestTurnIsTakenUnderTheCallersKey(t *testing.T) {
	// Who calls waits for the Exec, under the key that it was named by.
	var s script
	var turns Turns
	turns.Take(&s, "a", 1)
	turns.Take(&s, "b", 2)
	require.Equal(t, []overlay.ExecKey{{Name: "a", N: 1}, {Name: "b", N: 2}}, s.keys)
}

func TestTurnsAreReused(t *testing.T) {
	// A turn per message must not be garbage per message.
	s := &script{keys: make([]overlay.ExecKey, 0, 4096)}
	var turns Turns
	require.Less(t, testing.AllocsPerRun(1000, func() { turns.Take(s, "a", 1) }), 0.5)
}

func TestFingerprintTellsCallsApart(t *testing.T) {
	// Calls that differ in name, body, length of the body or in what more there is differ.
	long := make([]byte, 100)
	seen := map[uint64]string{}
	for name, n := range map[string]uint64{
		"one":    Fingerprint("geo", []byte("a")),
		"name":   Fingerprint("geo2", []byte("a")),
		"body":   Fingerprint("geo", []byte("b")),
		"more":   Fingerprint("geo", []byte("a"), 1),
		"empty":  Fingerprint("geo", nil),
		"long":   Fingerprint("geo", long),
		"longer": Fingerprint("geo", append(long, 0)),
	} {
		require.Empty(t, seen[n], name)
		seen[n] = name
	}
	require.Equal(t, Fingerprint("geo", []byte("a")), Fingerprint("geo", []byte("a")))
}
