// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTwoFoldersBuildTheSameBytes(t *testing.T) {
	// This test builds the program as make build does, from copies of the sources in two
	// folders: the files are the same, byte for byte, and name neither folder.
	alone(t)
	var programs [][]byte
	var folders []string
	for _, name := range []string{"one", "another-folder"} {
		dir := filepath.Join(t.TempDir(), name)
		copySources(t, "..", dir)
		cmd := exec.Command("make", "build", "COMMIT=0123456789ab")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "make build: %s", out)
		program := read(t, filepath.Join(dir, "bin", "arke"))
		programs, folders = append(programs, []byte(program)), append(folders, dir)
	}
	require.True(t, bytes.Equal(programs[0], programs[1]), "the programs differ: they have %d and %d bytes", len(programs[0]), len(programs[1]))
	require.True(t, bytes.Contains(programs[0], []byte("0123456789ab")), "the commit is not stamped")
	for _, dir := range folders {
		require.False(t, bytes.Contains(programs[0], []byte(dir)), "the program names %s", dir)
	}
}

// copySources copies what the program is built from: the first module, without what
// version control and former builds left there.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "bin" || name == "bench"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	require.NoError(t, err)
}
