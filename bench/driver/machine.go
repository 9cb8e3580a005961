// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says what was measured on, without names or paths.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	MemoryB uint64 `json:"memory_bytes"`
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
}

// ThisMachine describes the machine.
func ThisMachine() Machine {
	memory, _ := strconv.ParseUint(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return Machine{
		CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), MemoryB: memory << 10,
		Kernel: strings.TrimSpace(string(kernel)), Go: strings.TrimPrefix(runtime.Version(), "go"),
	}
}

// procField returns the first value of a name in a file of "name: value" lines.
func procField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
