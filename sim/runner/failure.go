// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/arke-mesh/arke/sim/scenario"
)

// FailureFormat is what the field "format" of a replay file says.
const FailureFormat = "arke sim failure 1"

// Failure is a failed run in a form that runs again: what a replay file holds.
type Failure struct {
	Format    string `json:"format"`
	Replay    string `json:"replay"` // the command that runs it again
	Name      string `json:"name"`
	Level     string `json:"level"`
	Seed      uint64 `json:"seed"`
	Commit    string `json:"commit"` // of the program that saw it
	GoVersion string `json:"go_version"`
	Host      string `json:"host"`
	TraceHash string `json:"trace_hash,omitempty"` // level sim
	Events    uint64 `json:"events,omitempty"`     // level sim
	Cause     Cause  `json:"cause"`                // the first of them
	Causes    int    `json:"causes"`               // how many there were

	// Scenario is expanded: nothing of it depends on how seeds are used.
	Scenario scenario.Scenario `json:"scenario"`
}

// NewFailure makes a Failure of a run that failed.
func NewFailure(r Result) (Failure, error) {
	job, err := r.Job.Prepare()
	if err != nil {
		return Failure{}, err
	}
	causes := r.Causes()
	if len(causes) == 0 {
		return Failure{}, errors.New("runner: the run did not fail")
	}
	info := About(job)
	f := Failure{
		Format: FailureFormat, Name: job.Scenario.Name, Level: job.Level, Seed: job.Seed,
		Commit: info.Commit, GoVersion: info.GoVersion, Host: info.Host,
		Cause: causes[0], Causes: len(causes), Scenario: job.Scenario,
	}
	if r.Outcome != nil {
		f.TraceHash, f.Events = r.Outcome.Info.TraceHash, r.Outcome.Info.Events
	}
	f.Replay = "arke sim replay " + f.File()
	return f, nil
}

// Job is the job that runs the failure again.
func (f Failure) Job() Job { return Job{Scenario: f.Scenario, Level: f.Level, Seed: f.Seed} }

// File is the name of the failure's file: fail-<hash>.json, with the trace
// hash where there is one.
func (f Failure) File() string {
	hash := f.TraceHash
	if hash == "" {
		h := fnv.New64a()
		text, _ := json.Marshal(f.Scenario)
		_, _ = fmt.Fprintf(h, "%s %s %s %s", f.Level, text, f.Cause.Kind, f.Cause.Checker)
		hash = fmt.Sprintf("%016x", h.Sum64())
	}
	return "fail-" + hash + ".json"
}

// Write writes the replay file into a folder and returns its path.
func (f Failure) Write(dir string) (string, error) {
	path := filepath.Join(dir, f.File())
	if dir != "" && dir != "." {
		f.Replay = "arke sim replay " + path
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}

// IsFailure says whether the content of a file is that of a replay file.
func IsFailure(data []byte) bool {
	var head struct {
		Format string `json:"format"`
	}
	return json.Unmarshal(data, &head) == nil && head.Format == FailureFormat
}

// ParseFailure reads a replay file. The name is for errors, which wrap
// ErrScenario. It is as strict as scenario.Parse.
func ParseFailure(name string, data []byte) (Failure, error) {
	var f Failure
	if !IsFailure(data) {
		return f, bad(name, fmt.Errorf("is not a replay file, whose field \"format\" is %q", FailureFormat))
	}
	var raw struct {
		Scenario json.RawMessage `json:"scenario"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return f, bad(name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, bad(name, err)
	}
	s, err := scenario.Parse(name, raw.Scenario)
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrScenario, err)
	}
	f.Scenario = s
	if f.Cause.Checker == "" {
		return f, bad(name, errors.New("does not say what failed"))
	}
	return f, nil
}

// stamp is the commit, if the linker was told (make build does); go run and
// go install of a version know it without.
var stamp string

// Commit is the one that this program was built from, with a + if the files
// were not those of the commit; "" = unknown.
func Commit() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}
