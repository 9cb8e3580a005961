// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestAVouchIsForOneStatementOfOneNetwork proves that only a holder of an accepted
// key can make one, and that it is good for nothing else.
func TestAVouchIsForOneStatementOfOneNetwork(t *testing.T) {
	f := newFile(t, "net")
	f.Keys = versions(1, 2)
	n := newNetwork(t, f)
	proof := n.Vouch(1, "mallory", 3, []byte("b"))
	require.Len(t, proof, security.VouchSize)
	require.NoError(t, n.CheckVouch(proof, 1, "mallory", 3, []byte("b")))
	for what, err := range map[string]error{
		"topic":   n.CheckVouch(proof, 2, "mallory", 3, []byte("b")),
		"subject": n.CheckVouch(proof, 1, "mallorx", 3, []byte("b")),
		"number":  n.CheckVouch(proof, 1, "mallory", 4, []byte("b")),
		"body":    n.CheckVouch(proof, 1, "mallory", 3, nil),
		"moved":   n.CheckVouch(proof, 1, "malloryb", 3, nil),
		"length":  n.CheckVouch(proof[1:], 1, "mallory", 3, []byte("b")),
		"none":    n.CheckVouch(nil, 1, "mallory", 3, []byte("b")),
	} {
		require.ErrorIs(t, err, security.ErrUnauthorized, what)
	}
	forEachChange(proof, func(changed []byte) {
		require.ErrorIs(t, n.CheckVouch(changed, 1, "mallory", 3, []byte("b")), security.ErrUnauthorized)
	})
	other := newFile(t, "other")
	other.Keys = f.Keys
	require.ErrorIs(t, newNetwork(t, other).CheckVouch(proof, 1, "mallory", 3, []byte("b")), security.ErrUnauthorized)

	// Who has the next key knows what the old one said, until there is one more.
	f.Keys = versions(2, 3)
	require.NoError(t, newNetwork(t, f).CheckVouch(proof, 1, "mallory", 3, []byte("b")))
	f.Keys = versions(2, 3, 4)
	require.ErrorIs(t, newNetwork(t, f).CheckVouch(proof, 1, "mallory", 3, []byte("b")), security.ErrUnauthorized)
}

// TestAVouchIsForThoseWithTheOldFile proves that while keys overlap a statement of who
// has the new file counts for who has not, and that it is made by the new key after that.
func TestAVouchIsForThoseWithTheOldFile(t *testing.T) {
	f := newFile(t, "net")
	f.Keys = versions(1)
	old := newNetwork(t, f)
	f.Keys = rotate(t, f.Keys, noon, time.Hour, "2")
	n := newNetwork(t, f)
	n.Advance(noon)
	require.NoError(t, old.CheckVouch(n.Vouch(1, "mallory", 1, nil), 1, "mallory", 1, nil))
	n.Advance(noon.Add(time.Hour))
	require.ErrorIs(t, old.CheckVouch(n.Vouch(1, "mallory", 1, nil), 1, "mallory", 1, nil), security.ErrUnauthorized)
}
