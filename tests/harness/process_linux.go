// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tie has the kernel kill the process together with the tests, and gives it a
// group of its own so that a terminal's Ctrl-C does not reach it first.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// RSS returns the resident memory of the process in bytes.
func (p *Process) RSS() int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	var size, resident int
	if err == nil {
		_, err = fmt.Fscan(bytes.NewReader(text), &size, &resident)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	return resident * os.Getpagesize()
}

// CPU returns the processor time that the process has used.
func (p *Process) CPU() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	// The second field, the command's name, may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// Wakeups returns how often a thread of the process has waited and gone on.
func (p *Process) Wakeups() (n int) {
	p.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		p.t.Fatalf("%s: no threads (%v)", p.name, err)
	}
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, rest, _ := bytes.Cut(text, []byte("\nvoluntary_ctxt_switches:"))
		var switches int
		_, _ = fmt.Fscan(bytes.NewReader(rest), &switches)
		n += switches
	}
	return n
}

// ticksPerSecond is the unit of the kernel's accounting, on every platform.
const ticksPerSecond = 100
