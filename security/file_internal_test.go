// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsBelongToUsOrToRoot(t *testing.T) {
	// This test checks owner and mode together: nobody else may read a secret, or
	// put another one in its place.
	ours, theirs := owner{uid: 1000}, owner{uid: 1001, foreign: true}
	shared := owner{uid: 0, group: true} // root's, and our group's: as a service manager makes them
	for _, tc := range []struct {
		mode fs.FileMode
		of   owner
		want error
	}{
		{0o600, ours, nil},
		{0o400, ours, nil},
		{0o440, ours, ErrLooseMode},
		{0o440, shared, nil},
		{0o400, shared, nil},
		{0o640, shared, ErrLooseMode},
		{0o460, shared, ErrLooseMode},
		{0o444, shared, ErrLooseMode},
		{0o644, ours, ErrLooseMode},
		{0o600, theirs, ErrForeignOwner},
		{0o400, theirs, ErrForeignOwner},
		{0o440, owner{uid: 1001, foreign: true, group: true}, ErrForeignOwner},
	} {
		require.ErrorIs(t, checkSecret("key", tc.mode, tc.of), tc.want, "%04o %+v", tc.mode, tc.of)
	}
	for _, tc := range []struct {
		mode fs.FileMode
		of   owner
		want error
	}{
		{0o700, ours, nil},
		{0o755, ours, nil},
		{0o755, shared, nil},
		{0o775, ours, ErrLooseDirectory},
		{0o702, ours, ErrLooseDirectory},
		{0o777, shared, ErrLooseDirectory},
		{0o700, theirs, ErrForeignOwner},
	} {
		require.ErrorIs(t, checkDirectory("data", tc.mode, tc.of), tc.want, "%04o %+v", tc.mode, tc.of)
	}
}
