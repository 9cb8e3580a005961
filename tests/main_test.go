// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package tests holds black-box scenarios: real binaries, real processes,
// real sockets. They read as stories; how a process is run is the harness's
// business.
package tests

import (
	"os"
	"testing"

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
