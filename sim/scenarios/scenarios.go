// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/arke-mesh/arke/sim/scenario"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the shipped scenarios in alphabetical order,
// without ".yaml".
func Names() []string {
	entries, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e, ".yaml")
	}
	return names
}

// Read returns the file of a shipped scenario. The caller owns the bytes.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("scenarios: no scenario is called %q; there is %s", name, strings.Join(Names(), ", "))
	}
	return data, nil
}

// Load returns a shipped scenario, parsed.
func Load(name string) (scenario.Scenario, error) {
	data, err := Read(name)
	if err != nil {
		return scenario.Scenario{}, err
	}
	return scenario.Parse(name+".yaml", data)
}
