// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/scenarios"
)

// maxSeeds bounds --seeds, against a slip of the finger.
const maxSeeds = 100_000

// badFile says what is wrong with a file.
func badFile(format string, args ...any) error {
	return &statusError{code: simFile, text: fmt.Sprintf(format, args...)}
}

// readSim returns the content of a file, of the scenario in a folder that --out
// made, or of a scenario that comes with the program.
func readSim(name string) ([]byte, error) {
	if stat, err := os.Stat(name); err == nil && stat.IsDir() {
		name = filepath.Join(name, scenarioFile)
	}
	data, err := os.ReadFile(name)
	if err == nil {
		return data, nil
	}
	shipped := strings.TrimSuffix(name, ".yaml")
	if errors.Is(err, os.ErrNotExist) && slices.Contains(scenarios.Names(), shipped) {
		return scenarios.Read(shipped)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, badFile("%s: there is no such file, and no scenario of that name comes with the program: see 'arke sim list'", name)
	}
	return nil, badFile("%v", err)
}

// readScenario reads a scenario.
func readScenario(name string) (scenario.Scenario, error) {
	data, err := readSim(name)
	if err != nil {
		return scenario.Scenario{}, err
	}
	if runner.IsFailure(data) {
		return scenario.Scenario{}, badFile("%s is a replay file, not a scenario: use 'arke sim replay %s'", name, name)
	}
	s, err := scenario.Parse(name, data)
	if err != nil {
		return s, badFile("%v\nsee 'arke sim format'", err)
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return s, nil
}

// readFailure reads a replay file.
func readFailure(name string) (runner.Failure, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return runner.Failure{}, badFile("%v", err)
	}
	if !runner.IsFailure(data) {
		return runner.Failure{}, badFile("%s is no replay file (fail-….json), which 'arke sim run' writes when a run fails", name)
	}
	f, err := runner.ParseFailure(name, data)
	return f, simError(err)
}

// parseSeeds reads "A..B", both ends included.
func parseSeeds(text string) ([]uint64, error) {
	first, last, ok := strings.Cut(text, "..")
	a, errA := strconv.ParseUint(first, 10, 64)
	b, errB := strconv.ParseUint(last, 10, 64)
	switch {
	case !ok || errA != nil || errB != nil:
		return nil, fmt.Errorf("--seeds %q is not A..B, like 1..20", text)
	case a == 0 || b < a:
		return nil, fmt.Errorf("--seeds %q: the first seed is 1 or more, and the last one not less", text)
	case b-a >= maxSeeds:
		return nil, fmt.Errorf("--seeds %q: that is more than %d", text, maxSeeds)
	}
	seeds := make([]uint64, 0, b-a+1)
	for s := a; s <= b; s++ {
		seeds = append(seeds, s)
	}
	return seeds, nil
}
