// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASocketIsPrivateFromItsFirstMoment(t *testing.T) {
	// This test checks the mode between bind and chmod, which no umask of the user
	// decides.
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "s")
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return c.Control(makePrivate) }}
	l, err := private.Listen(context.Background(), "unix", path)
	require.NoError(t, err)
	defer l.Close()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
