// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// BuildTree builds the programs of a run, in a new directory of that name in
// into: with the tree of Arke in dir, or if that is empty with the one around
// this module. It must be called in this module's folder.
func BuildTree(dir, into, name string) (Build, error) {
	into = filepath.Join(into, name)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return Build{}, err
	}
	b := Build{Worker: filepath.Join(into, "worker"), Arke: filepath.Join(into, "arke")}
	argv := []string{"go", "build", "-tags", tags(), "-o", b.Worker}
	if dir == "" {
		return b, errors.Join(command("", append(argv, "./worker/program")...), buildArke("..", b.Arke))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Build{}, err
	}
	// The same module, but with that tree in place of the one around it.
	modfile := filepath.Join(into, "go.mod")
	older, err := nodeWhereItWas(dir, into)
	if err != nil {
		return Build{}, err
	}
	argv = append(argv, older...)
	return b, errors.Join(
		copyFile("go.mod", modfile), copyFile("go.sum", filepath.Join(into, "go.sum")),
		command("", "go", "mod", "edit", "-replace", "github.com/arke-mesh/arke="+dir, modfile),
		command("", append(argv, "-mod=mod", "-modfile", modfile, "./worker/program")...),
		buildArke(dir, b.Arke),
	)
}

// nodeWhereItWas returns the flags that build this module with a tree whose nodes
// are still in package node, from which they moved to internal/node.
func nodeWhereItWas(dir, into string) (flags []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, "internal", "node")); err == nil {
		return nil, nil
	}
	source, err := filepath.Abs(filepath.Join("system", "arke.go"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	older, overlay := filepath.Join(into, "arke.go"), filepath.Join(into, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: older}})
	if err != nil {
		return nil, err
	}
	return []string{"-overlay", overlay}, errors.Join(
		os.WriteFile(older, bytes.ReplaceAll(text, []byte("/arke/internal/node\""), []byte("/arke/node\"")), 0o644),
		os.WriteFile(overlay, replace, 0o644),
	)
}

// tags are the build tags of this program.
func tags() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "-tags" {
			return s.Value
		}
	}
	return ""
}

// buildArke builds the program arke of a tree.
func buildArke(dir, to string) error {
	return command(dir, "go", "build", "-trimpath", "-o", to, "./cmd/arke")
}

func command(dir string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
