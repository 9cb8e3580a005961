// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"os/exec"
	"syscall"
)

// tie has the kernel kill the child when this process dies, however that
// happens, and keeps a terminal's Ctrl-C away from it: we end it ourselves.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
