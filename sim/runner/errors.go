// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
)

// ErrScenario is wrapped by Job.Prepare and Load when the scenario or the
// replay file makes no sense.
var ErrScenario = errors.New("runner: not a usable scenario")

// ErrLevel is wrapped when a scenario can't be played at the level asked for:
// its file excludes it, this machine lacks something, or an action is not
// possible there.
var ErrLevel = errors.New("runner: not possible at this level")

// ChildError says that a child process ended without an outcome, or with an
// error of the player.
type ChildError struct {
	Text    string // what went wrong, one line
	Output  []byte // the end of what the child printed: panics, stacks
	Crashed bool   // it panicked, was killed, or hung, so the scenario shows a bug
	level   bool
}

// Error implements error.
func (e *ChildError) Error() string { return "runner: " + e.Text }

// Unwrap makes errors.Is(err, ErrLevel) true if that is why.
func (e *ChildError) Unwrap() error {
	if e.level {
		return ErrLevel
	}
	return nil
}

// bad wraps ErrScenario around what is wrong with a file.
func bad(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrScenario, name, err)
}
