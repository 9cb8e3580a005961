// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuClock returns the processor time of a process so far.
func cpuClock(pid int) time.Duration {
	var t unix.Timespec
	// The kernel's id of another process's clock: ^pid and CPUCLOCK_SCHED.
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// family returns a process and those it has started.
func family(pid int) []int {
	pids := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, family(child)...)
			}
		}
	}
	return pids
}

// peakBytes returns the largest resident memory that a process had.
func peakBytes(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// machineClock returns the processor time that all processes of the machine
// have used, and what its host has withheld.
func machineClock() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int
	// cpu user nice system idle iowait irq softirq steal
	for i, word := range strings.Fields(line) {
		switch i {
		case 1, 2, 3, 8:
			n, _ := strconv.Atoi(word)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// ticksPerSecond is the unit of the kernel's accounting, on every platform.
const ticksPerSecond = 100

// meter samples what groups of processes use from one time to another.
type meter struct {
	groups map[string][]int // pids by what they are
	before map[string]time.Duration
	others time.Duration
	at     time.Time
}

// usage is what processes have used.
type usage struct {
	cpu    map[string]time.Duration // by group
	peak   uint64                   // bytes, summed over the processes
	others float64                  // share of the machine that other processes used
}

func newMeter(groups map[string][]int) *meter {
	m := &meter{groups: groups, at: time.Now()}
	m.others = machineClock()
	m.before = m.clocks()
	for _, d := range m.before {
		m.others -= d
	}
	return m
}

func (m *meter) clocks() map[string]time.Duration {
	sums := map[string]time.Duration{}
	for group, pids := range m.groups {
		for _, pid := range pids {
			sums[group] += cpuClock(pid)
		}
	}
	return sums
}

func (m *meter) read() usage {
	u := usage{cpu: m.clocks()}
	took := time.Since(m.at)
	others := machineClock() - m.others
	for group, d := range u.cpu {
		others -= d
		u.cpu[group] = d - m.before[group]
	}
	u.others = max(0, others.Seconds()/took.Seconds()/float64(runtime.NumCPU()))
	for _, pids := range m.groups {
		for _, pid := range pids {
			u.peak += peakBytes(pid)
		}
	}
	return u
}
