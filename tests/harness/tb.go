// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"time"
)

// TB is what the harness needs of a test; *testing.T is one, and so is a
// program that measures.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
	Failed() bool
}

// Patience is how long a story waits for one thing before it says that it hangs:
// the tests share a small machine, and no promise is about it.
const Patience = time.Minute

// Look is the pause between two looks of Eventually and Never; more of them
// would be a load. Looks are the time of a machine that has nothing else to do.
const Look = 20 * time.Millisecond

// Eventually polls f until it returns nil, and fails the test with f's last
// error if that takes longer than limit.
func Eventually(t TB, limit time.Duration, what string, f func() error) {
	t.Helper()
	if err := poll(limit, f); err != nil {
		t.Fatalf("%s did not come true within %s: %v", what, limit, err)
	}
}

// Never polls f for the whole time, and fails the test when it returns nil.
func Never(t TB, limit time.Duration, what string, f func() error) {
	t.Helper()
	if poll(limit, f) == nil {
		t.Fatalf("%s came true, but never should", what)
	}
}

func poll(limit time.Duration, f func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return nil
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("at last: %w", err)
		}
		time.Sleep(Look)
	}
}
