// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestRotationOverlapsAndEnds proves what a rotation makes of keys: there is always
// one that is valid, and the old ones end with the overlap, or at once without one.
func TestRotationOverlapsAndEnds(t *testing.T) {
	keys := versions(1)
	second := rotate(t, keys, noon.Add(time.Millisecond), time.Hour, "2")
	require.Equal(t, noon.Add(time.Hour), second[0].NotAfter)
	require.Equal(t, uint32(2), second[1].Version)
	require.Equal(t, noon, second[1].NotBefore)

	third := rotate(t, second, noon.Add(90*time.Minute), time.Hour, "3")
	require.Equal(t, []uint32{2, 3}, numbers(third), "the first has ended")
	again := rotate(t, second, noon.Add(30*time.Minute), time.Hour, "3")
	require.Equal(t, []uint32{1, 2, 3}, numbers(again))
	require.Equal(t, noon.Add(time.Hour), again[0].NotAfter, "an end does not move")

	cut := rotate(t, second, noon, 0, "3")
	require.Equal(t, []uint32{3}, numbers(cut))
	require.True(t, cut[0].NotBefore.IsZero())
	_, err := security.RotateKeys(nil, noon, 0, seeded("x"))
	require.ErrorIs(t, err, security.ErrBadFile)
}

func rotate(t *testing.T, keys []security.KeyVersion, now time.Time, overlap time.Duration, seed string) []security.KeyVersion {
	t.Helper()
	keys, err := security.RotateKeys(keys, now, overlap, seeded(seed))
	require.NoError(t, err)
	return keys
}

func numbers(keys []security.KeyVersion) (all []uint32) {
	for _, k := range keys {
		all = append(all, k.Version)
	}
	return all
}

// TestFilesAreReplacedWhole proves that an edit keeps mode and group, that a link stays
// one, that a failed edit changes nothing, and that two edits exclude each other.
func TestFilesAreReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "network"), filepath.Join(dir, "link")
	require.NoError(t, security.WriteNetworkFile(path, newFile(t, "net")))
	require.NoError(t, os.Chmod(path, 0o400))
	require.NoError(t, os.Symlink(path, link))
	p := newPeer(t, "mallory")
	require.NoError(t, security.EditNetworkFile(link, func(f *security.NetworkFile) error {
		err := security.EditNetworkFile(path, func(*security.NetworkFile) error { return nil })
		require.ErrorIs(t, err, fs.ErrExist)
		f.Bans = append(f.Bans, p)
		return nil
	}))
	f, err := security.ReadNetworkFile(path)
	require.NoError(t, err)
	require.True(t, f.Banned(p))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o400), info.Mode())

	if os.Geteuid() == 0 { // only root can give a file away
		const group = 4242
		require.NoError(t, os.Chown(path, -1, group))
		require.NoError(t, security.EditNetworkFile(path, func(*security.NetworkFile) error { return nil }))
		info, err = os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, group, reflect.ValueOf(info.Sys()).Elem().FieldByName("Gid").Uint())
	}

	before := read(t, path)
	wrong := errors.New("wrong")
	require.ErrorIs(t, security.EditNetworkFile(path, func(*security.NetworkFile) error { return wrong }), wrong)
	require.ErrorIs(t, security.EditNetworkFile(path, func(f *security.NetworkFile) error { f.Keys = nil; return nil }), security.ErrBadFile)
	require.ErrorIs(t, security.EditClusterFile(path, nil), security.ErrBadFile)
	require.Equal(t, before, read(t, path))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
