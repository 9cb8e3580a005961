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

// needs skips the test where this level can't run.
func needs(t *testing.T) {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skip(err)
	}
}
