// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"
)

// Info is what is known about a run besides its history: who ran what, and
// what it took. The zero value of every field means "not known".
type Info struct {
	Name        string        `json:"name"`        // of the scenario
	File        string        `json:"file"`        // it came from; for the command that runs it again
	Level       string        `json:"level"`       // sim, stack or net
	Seed        uint64        `json:"seed"`        // the run's, not the file's
	Commit      string        `json:"commit"`      // of this program
	GoVersion   string        `json:"go_version"`  // that built it
	TraceHash   string        `json:"trace_hash"`  // hexadecimal; "" where the level has none
	Checkpoints []uint64      `json:"checkpoints"` // the running hash after each 1,000 events
	Events      uint64        `json:"events"`      // of the trace
	Virtual     time.Duration `json:"virtual_ns"`  // how long the run took for the nodes
	Real        time.Duration `json:"real_ns"`     // how long it took for us
	MemoryPeak  uint64        `json:"memory_peak"` // bytes of the process that ran it
	Started     bool          `json:"started"`     // the network stood and the workload began
	Error       string        `json:"error"`       // why the run did not come to its end; "" = it did
	Command     string        `json:"command"`     // runs it again; "" = made from the other fields
	Host        string        `json:"host"`        // operating system and architecture, "linux/amd64"
}

// Replay returns the command that runs it again.
func (i Info) Replay() string {
	if i.Command != "" {
		return i.Command
	}
	file := i.File
	if file == "" {
		file = i.Name
	}
	command := fmt.Sprintf("arke sim run %s --seed %d", file, i.Seed)
	if i.Level != "" && i.Level != "sim" {
		command += " --level " + i.Level
	}
	return command
}
