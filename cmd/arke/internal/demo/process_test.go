// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package demo

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(t *testing.T, script string) *process {
	t.Helper()
	p, err := start("child", "/bin/sh", filepath.Join(t.TempDir(), "log"), "ready ", "-c", script)
	require.NoError(t, err)
	t.Cleanup(p.kill)
	return p
}

func TestProcessTellsWhenItIsReady(t *testing.T) {
	// This test checks that the rest of the ready line is passed on, that
	// SIGTERM ends the process, and that ending it twice does no harm.
	p := shell(t, "echo hello; echo ready now; exec sleep 600")
	line, err := p.waitReady(t.Context())
	require.NoError(t, err)
	require.Equal(t, "now", line)
	p.stop()
	p.kill()
	require.Equal(t, -1, p.cmd.ProcessState.ExitCode())
}

func TestProcessThatEndsTooSoonIsQuoted(t *testing.T) {
	// This test checks that the error has the process's last words.
	_, err := shell(t, "echo no key >&2; exit 1").waitReady(t.Context())
	require.ErrorContains(t, err, "no key")
	_, err = shell(t, "exit 1").waitReady(t.Context())
	require.ErrorContains(t, err, "logged nothing")
}

func TestWaitingForAProcessEndsWithTheContext(t *testing.T) {
	// This test checks that Ctrl-C is not held up by a child that hangs.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := shell(t, "exec sleep 600").waitReady(ctx)
	require.Error(t, err)
}

func TestCrewLeavesNothingBehind(t *testing.T) {
	// This test checks that a demo that can't be run removes its folder.
	t.Setenv("TMPDIR", t.TempDir())
	_, err := Run(t.Context(), Config{Executable: "/bin/false"})
	require.ErrorContains(t, err, "relay-1 ended before it was ready")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}
