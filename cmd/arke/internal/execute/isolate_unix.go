// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package execute

import (
	"os/exec"
	"syscall"
)

// isolate gives the command a process group of its own, so that killing it
// also ends what it started, and a terminal's Ctrl-C, which drains us, does
// not interrupt the requests under way.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
