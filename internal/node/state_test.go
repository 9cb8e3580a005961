// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

func TestADataDirectoryThatOthersCanWriteIsRefused(t *testing.T) {
	// This test checks that nobody else can put a key of his own in place of the
	// node's, nor take it away.
	for _, mode := range []os.FileMode{0o777, 0o770, 0o722, 0o707} {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chmod(dir, mode))
		_, err := openState(dir)
		require.ErrorIs(t, err, security.ErrLooseDirectory, "%04o", mode)
		require.ErrorContains(t, err, "chmod go-w "+dir)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func TestTheDataDirectoryMakesARestartedNodeTheSamePeer(t *testing.T) {
	// This test opens a data directory three times: the key stays, the
	// incarnation grows, and no file is open to others.
	dir := filepath.Join(t.TempDir(), "a", "b")
	random := overlay.NewRealRand().Stream("test")
	var first security.NodeKey
	for start := uint64(1); start <= 3; start++ {
		s, err := openState(dir)
		require.NoError(t, err)
		k, err := s.key(random)
		require.NoError(t, err)
		if start == 1 {
			first = k
		}
		require.Equal(t, first.PeerID(), k.PeerID())
		n, damaged, err := s.incarnation(time.Now())
		require.NoError(t, errors.Join(err, damaged))
		require.Equal(t, start, n)
		require.Equal(t, filepath.Join(dir, peersFile), s.peers())
		require.NoError(t, s.close())
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 3, "lock, key, incarnation, and nothing temporary")
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, f.Name())
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
}

func TestADataDirectoryIsForOneNode(t *testing.T) {
	// This test checks that a second node is refused while the first lives,
	// with an error that says what to do, and that a crash leaves no lock.
	dir := t.TempDir()
	s, err := openState(dir)
	require.NoError(t, err)
	_, err = openState(dir)
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, dir)
	require.NoError(t, s.lock.Close()) // as the system does when a process dies
	s, err = openState(dir)
	require.NoError(t, err)
	require.NoError(t, s.close())
}

func TestADamagedDataDirectoryIsRefused(t *testing.T) {
	// This test checks a key that is no key, one that others can read, and a directory
	// that is a file.
	dir := t.TempDir()
	random := overlay.NewRealRand().Stream("test")
	s, err := openState(dir)
	require.NoError(t, err)
	defer s.close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, keyFile), []byte("nonsense"), 0o600))
	_, err = s.key(random)
	require.ErrorIs(t, err, security.ErrBadFile)
	require.NoError(t, os.Chmod(filepath.Join(dir, keyFile), 0o644))
	_, err = s.key(random)
	require.ErrorIs(t, err, security.ErrLooseMode)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = openState(file)
	require.Error(t, err)
}

func TestADamagedCountOfStartsGoesOnFromTheTimeOfDay(t *testing.T) {
	// This test checks that a file that a loss of power has emptied, or cut, delays no
	// start, and that later numbers are higher than any before.
	s, err := openState(t.TempDir())
	require.NoError(t, err)
	defer s.close()
	path := filepath.Join(s.dir, incarnationFile)
	now := time.Now()
	for _, text := range []string{"", "7x", "\x00\x00\x00\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		n, damaged, err := s.incarnation(now)
		require.NoError(t, err)
		require.Error(t, damaged)
		require.EqualValues(t, now.UnixMicro()+1, n)
		n, damaged, err = s.incarnation(now)
		require.NoError(t, errors.Join(err, damaged))
		require.EqualValues(t, now.UnixMicro()+2, n)
	}
	require.NoError(t, os.WriteFile(path, []byte("41\n"), 0o600))
	n, damaged, err := s.incarnation(now)
	require.NoError(t, errors.Join(err, damaged))
	require.EqualValues(t, 42, n)
}

func TestWithoutADataDirectoryNothingIsKept(t *testing.T) {
	// This test checks the zero state.
	s, err := openState("")
	require.NoError(t, err)
	require.Empty(t, s.peers())
	require.NoError(t, s.close())
	random := overlay.NewRealRand().Stream("test")
	a, err := s.key(random)
	require.NoError(t, err)
	b, err := s.key(random)
	require.NoError(t, err)
	require.NotEqual(t, a.PeerID(), b.PeerID())
}

func TestTheKeyringKeepsABoundedNumberOfKeys(t *testing.T) {
	// This test checks that the same name gives the same keys, explicit ones
	// before derived ones, and that names from outside do not fill the memory.
	file, err := security.GenerateNetworkFile("test", overlay.NewRealRand().Stream("test"))
	require.NoError(t, err)
	network, err := security.NewNetwork(file)
	require.NoError(t, err)
	k := newKeyring(network, map[string][]security.KeyVersion{"own": {{Version: 1, Key: security.Key{1}}}})
	require.False(t, k.cluster("own").Derived())
	require.True(t, k.cluster("other").Derived())
	require.Same(t, k.cluster("other"), k.cluster("other"))
	for i := range 3 * maxKeys {
		k.cluster(string(rune(i)))
	}
	require.LessOrEqual(t, len(k.derived), maxKeys)
	require.Same(t, k.cluster("own"), k.cluster("own"))
}

func TestThePeerIDOfANodeThatRunsCanBeRead(t *testing.T) {
	// This test asks for the peer id of a data directory that a running node has locked, as
	// whoever has a certificate signed for it does; and of a new one, whose key is made.
	dir := filepath.Join(t.TempDir(), "d")
	made, err := PeerID(dir)
	require.NoError(t, err)
	s, err := openState(dir)
	require.NoError(t, err)
	defer s.close()
	again, err := PeerID(dir)
	require.NoError(t, err)
	require.Equal(t, made, again)
}
