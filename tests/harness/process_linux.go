// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
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

// goHeap is where the Go runtime puts heap and stacks, on Linux with 64 bits: the
// race detector relies on it (runtime, arenaHint).
const (
	goHeapBegin = 0xc000000000
	goHeapEnd   = 0xe000000000
)

// Memory returns the resident memory of the process in bytes, without what the race
// detector keeps beside it if there is one: that grows with every goroutine and lock
// that ever was, some MiB a second under load, while heap and stacks stay as they are.
func (p *Process) Memory() int {
	p.t.Helper()
	if !raced {
		return p.RSS()
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	size, found, inside := 0, false, false
	for line := range strings.SplitSeq(string(text), "\n") {
		var begin, end uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &begin, &end); n == 2 {
			inside = begin >= goHeapBegin && end <= goHeapEnd
			found = found || inside
			continue
		}
		var kib int
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); n == 1 && inside {
			size += kib << 10
		}
	}
	if !found {
		p.t.Fatalf("%s: its heap is not where it is looked for", p.name)
	}
	return size
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

// ticksPerSecond is the unit of the kernel's accounting, on every platform.
const ticksPerSecond = 100
