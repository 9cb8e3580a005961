// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that hosts leave no goroutine behind; no exemption is
// needed. This binary is also the other process of tests that need one.
func TestMain(m *testing.M) {
	if file := os.Getenv(childNetwork); file != "" {
		if err := runChild(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
