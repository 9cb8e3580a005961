// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

func TestOldFindingKeysCountBesideNewOnesForAWhile(t *testing.T) {
	// This test gives a crossing other finding keys: for ten seconds those of before count
	// beside them, however often they change meanwhile; a version that both have counts as
	// the newer file has it. The same keys in another file change nothing.
	start := time.Unix(1_000_000, 0)
	file := func(versions ...byte) *security.FindingFile {
		f := &security.FindingFile{Name: "vault"}
		for _, v := range versions {
			f.Keys = append(f.Keys, security.KeyVersion{Version: uint32(v), Key: security.Key{v}})
		}
		return f
	}
	var k findingKeys
	step := func(at time.Duration, wanted *security.FindingFile, want ...byte) {
		t.Helper()
		var versions []byte
		for _, v := range k.step(start.Add(at), wanted) {
			versions = append(versions, byte(v.Version))
		}
		require.Equal(t, want, versions, "at %v", at)
	}
	one, two := file(1), file(2)
	k = findingKeys{wanted: one, inUse: one.Keys}
	step(0, one)
	step(time.Second, file(1))
	step(2*time.Second, two, 1, 2)
	step(3*time.Second, two)
	three := file(2, 3)
	step(5*time.Second, three, 1, 2, 3)
	step(14900*time.Millisecond, three)
	step(15*time.Second, three, 2, 3)
	step(time.Hour, three)

	ending := file(2, 3)
	ending.Keys[0].NotAfter = start.Add(2 * time.Hour)
	step(time.Hour, ending, 2, 3)
	require.Equal(t, ending.Keys, k.inUse)
	step(time.Hour+besideTime, ending, 2, 3)
}
