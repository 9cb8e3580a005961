// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildTree builds the programs of a run with the tree of Arke in dir, into a
// new directory of that name in into. It must be called in this module's folder.
func BuildTree(dir, into, name string) (Build, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Build{}, err
	}
	into = filepath.Join(into, name)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return Build{}, err
	}
	b := Build{Worker: filepath.Join(into, "worker"), Arke: filepath.Join(into, "arke")}
	// The same module, but with that tree in place of the one around it.
	modfile := filepath.Join(into, "go.mod")
	sums := filepath.Join(into, "go.sum")
	return b, errors.Join(
		copyFile("go.mod", modfile), copyFile("go.sum", sums),
		command("", "go", "mod", "edit", "-replace", "github.com/arke-mesh/arke="+dir, modfile),
		command("", "go", "build", "-mod=mod", "-modfile", modfile, "-tags", Tags, "-o", b.Worker, "."),
		BuildArke(dir, b.Arke),
	)
}

// Tags are the build tags that this program was built with, as far as they
// matter.
var Tags = strings.Join(tags, ",")

var tags []string

// BuildArke builds the program arke of a tree.
func BuildArke(dir, to string) error {
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
