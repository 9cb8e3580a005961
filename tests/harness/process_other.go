// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package harness

import (
	"os/exec"
	"time"
)

// tie does nothing: a killed test run leaves its processes behind here.
func tie(*exec.Cmd) {}

// RSS skips the test: how to ask differs from system to system.
func (p *Process) RSS() int {
	p.t.Helper()
	p.t.Skipf("no resident set size on this system")
	return 0
}

// Memory skips the test, too.
func (p *Process) Memory() int { return p.RSS() }

// CPU skips the test, too.
func (p *Process) CPU() time.Duration {
	p.t.Helper()
	p.t.Skipf("no processor time on this system")
	return 0
}
