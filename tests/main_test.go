// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package tests holds black-box scenarios: real binaries, real processes,
// real sockets. They read as stories; how a process is run is the harness's
// business.
package tests

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// scenario marks a test that runs beside others; alone marks one that measures
// a reaction or makes so much load that others would suffer.
func scenario(t *testing.T) {
	t.Helper()
	alone(t)
	t.Parallel()
}

func alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// write writes a file that nobody else may read, if it is new.
func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
