// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"os/exec"
	"syscall"
)

// tie has the kernel kill the process when the thread that starts it ends, so
// at the latest with this process, however that happens; and keeps a
// terminal's Ctrl-C away from it: we end it ourselves.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// pause stops the process where it is, or lets it go on.
func (p *process) pause(on bool) error {
	if on {
		return p.cmd.Process.Signal(syscall.SIGSTOP)
	}
	return p.cmd.Process.Signal(syscall.SIGCONT)
}
