// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		harness.RemoveBinary()
		os.Exit(code)
	}))
}

// needs skips the test where a mode can't be had.
func needs(t *testing.T, m Mode) {
	t.Helper()
	if err := Probe(m); err != nil {
		t.Skipf("mode %s is not possible here: %v", m, err)
	}
}
