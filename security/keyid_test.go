// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestKeySetsHaveOneNameEach proves that the id of a set tells apart whatever
// differs: the cluster, a key, a version, and who has one key more; and that the
// order does not matter.
func TestKeySetsHaveOneNameEach(t *testing.T) {
	both := versions(1, 2)
	backwards := slices.Clone(both)
	slices.Reverse(backwards)
	require.Equal(t, security.KeySetID("geo", both), security.KeySetID("geo", backwards))
	seen := map[security.KeyID]string{security.KeySetID("geo", both): "both"}
	for name, id := range map[string]security.KeyID{
		"another cluster":  security.KeySetID("geo2", both),
		"the newer only":   security.KeySetID("geo", both[1:]),
		"the older only":   security.KeySetID("geo", both[:1]),
		"one more":         security.KeySetID("geo", versions(1, 2, 3)),
		"another version":  security.KeySetID("geo", []security.KeyVersion{both[0], {Version: 3, Key: both[1].Key}}),
		"another key":      security.KeySetID("geo", []security.KeyVersion{both[0], {Version: 2, Key: newKey("x")}}),
		"with an end":      security.KeySetID("geo", []security.KeyVersion{both[0], {Version: 2, Key: both[1].Key, NotAfter: noon}}),
		"with a beginning": security.KeySetID("geo", []security.KeyVersion{both[0], {Version: 2, Key: both[1].Key, NotBefore: noon}}),
		"no key":           security.KeySetID("geo", nil),
		"id of one of two": security.NewCluster("geo", both).KeyID(),
	} {
		require.Empty(t, seen[id], name)
		seen[id] = name
	}
}

// TestASealSaysWhichKeyOpensIt proves that the receiver sees by the id alone which
// key of a cluster has sealed a payload, and whether it has that one.
func TestASealSaysWhichKeyOpensIt(t *testing.T) {
	b := newBinding(t)
	old, both := security.NewCluster("geo", versions(1)), security.NewCluster("geo", versions(1, 2))
	id, ok := security.SealedWith(both.Seal(seeded("salt"), b, nil, []byte("payload")))
	require.True(t, ok)
	require.Equal(t, both.KeyID(), id)
	require.True(t, both.Opens(id))
	require.False(t, old.Opens(id))
	require.True(t, both.Opens(old.KeyID()), "the older of two is accepted")
	_, ok = security.SealedWith(make([]byte, security.SealOverhead))
	require.False(t, ok)
	require.Zero(t, security.NewCluster("geo", nil).KeyID())
}
