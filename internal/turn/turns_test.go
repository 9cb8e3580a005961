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
func (s *script) OrdersUserCode()                  {}

func TestTurnIsTakenUnderTheCallersKey(t *testing.T) {
	// Who calls waits for the Exec, under the key that it was named by.
	var s script
	turns := Of(&s)
	turns.Take("a", 1)
	turns.Take("b", 2)
	turns.Call("c", "geo", []byte("x"), 5)
	require.Equal(t, []overlay.ExecKey{{Name: "a", N: 1}, {Name: "b", N: 2}, {Name: "c", N: fingerprint("geo", []byte("x")) ^ 5}}, s.keys)
}

func TestNobodyTakesTurnsInProduction(t *testing.T) {
	// What does not order goroutines is not asked, and costs nothing.
	turns := Of(overlay.NewWorkers(1))
	require.Nil(t, turns)
	body := make([]byte, 1000)
	require.Zero(t, testing.AllocsPerRun(100, func() { turns.Take("a", 1); turns.Call("a", "geo", body, 1) }))
}

func TestFingerprintTellsCallsApart(t *testing.T) {
	// Calls that differ in subject, body or length of the body differ.
	long := make([]byte, 100)
	seen := map[uint64]string{}
	for name, n := range map[string]uint64{
		"one":    fingerprint("geo", []byte("a")),
		"name":   fingerprint("geo2", []byte("a")),
		"body":   fingerprint("geo", []byte("b")),
		"empty":  fingerprint("geo", nil),
		"long":   fingerprint("geo", long),
		"longer": fingerprint("geo", append(long, 0)),
	} {
		require.NotContains(t, seen, n, name)
		seen[n] = name
	}
	require.Equal(t, fingerprint("geo", []byte("a")), fingerprint("geo", []byte("a")))
}
