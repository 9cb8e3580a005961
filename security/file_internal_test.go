// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package security

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownedCase is a file or directory, and how it is refused.
type ownedCase struct {
	mode fs.FileMode
	of   owner
	want error
}

func TestSecretsBelongToUsOrToRoot(t *testing.T) {
	// This test checks owner and mode together: nobody else may read a secret, or
	// put another one in its place.
	ours, theirs := owner{uid: 1000}, owner{uid: 1001, foreign: true}
	shared := owner{uid: 0, group: true} // root's, and our group's: as a service manager makes them
	for name, of := range map[string]struct {
		check func(string, fs.FileMode, owner) error
		cases []ownedCase
	}{
		"secret": {checkSecret, []ownedCase{
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
		}},
		"guarded": {checkGuarded, []ownedCase{
			{0o600, ours, nil},
			{0o644, ours, nil},
			{0o444, shared, nil},
			{0o664, ours, ErrUnguarded},
			{0o666, shared, ErrUnguarded},
			{0o644, theirs, ErrUnguarded},
		}},
		"directory": {checkDirectory, []ownedCase{
			{0o700, ours, nil},
			{0o755, ours, nil},
			{0o755, shared, nil},
			{0o775, ours, ErrLooseDirectory},
			{0o702, ours, ErrLooseDirectory},
			{0o777, shared, ErrLooseDirectory},
			{0o700, theirs, ErrForeignOwner},
		}},
	} {
		for _, tc := range of.cases {
			require.ErrorIs(t, of.check(name, tc.mode, tc.of), tc.want, "%s %04o %+v", name, tc.mode, tc.of)
		}
	}
}

func TestAPipeIsNoKeyFile(t *testing.T) {
	// This test checks that a pipe without a writer is refused instead of waited for.
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := ReadSecretFile(path)
	require.ErrorIs(t, err, ErrBadFile)
	require.ErrorContains(t, err, "not a regular file")
	_, err = ReadGuardedFile(path)
	require.ErrorIs(t, err, ErrBadFile)
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	// This test checks a file that an editor of Windows has written.
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("\ufefftext \ufeff"), 0o600))
	text, err := ReadSecretFile(path)
	require.NoError(t, err)
	require.Equal(t, "text \ufeff", string(text), "elsewhere it is text")
}

func TestFilesAreLookedAtAsTheyAre(t *testing.T) {
	// This test checks the same with real files and directories, of each owner and
	// mode that a check is about.
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	look := func(mode fs.FileMode) (secret, guarded error) {
		t.Helper()
		require.NoError(t, os.Chmod(path, mode))
		_, secret = ReadSecretFile(path)
		_, guarded = ReadGuardedFile(path)
		return secret, guarded
	}
	// A new file has a group of this process.
	for mode, want := range map[fs.FileMode][2]error{
		0o600: {nil, nil},
		0o400: {nil, nil},
		0o440: {nil, nil},
		0o640: {ErrLooseMode, nil},
		0o444: {ErrLooseMode, nil},
		0o660: {ErrLooseMode, ErrUnguarded},
		0o602: {ErrLooseMode, ErrUnguarded},
	} {
		secret, guarded := look(mode)
		require.ErrorIs(t, secret, want[0], "%04o", mode)
		require.ErrorIs(t, guarded, want[1], "%04o", mode)
	}
	require.NoError(t, CheckDirectory(dir))
	require.NoError(t, os.Chmod(dir, 0o770))
	require.ErrorIs(t, CheckDirectory(dir), ErrLooseDirectory)
	require.NoError(t, os.Chmod(dir, 0o755))

	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const somebody, group = 65534, 4242
	require.NoError(t, os.Chown(path, -1, group))
	secret, guarded := look(0o440)
	require.NoError(t, secret, "root itself has given it to that group, and `sudo arke key rotate` changes it")
	require.NoError(t, guarded)
	require.NoError(t, os.Chown(path, somebody, os.Getegid()))
	for _, mode := range []fs.FileMode{0o600, 0o400, 0o440} {
		secret, guarded = look(mode)
		require.ErrorIs(t, secret, ErrForeignOwner, "%04o", mode)
		require.ErrorIs(t, guarded, ErrUnguarded, "%04o", mode)
	}
	require.NoError(t, os.Chown(dir, somebody, -1))
	require.ErrorIs(t, CheckDirectory(dir), ErrForeignOwner)
}
