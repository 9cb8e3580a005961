// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Variable is the environment variable by which a program that has the bugs is
// told which one to show; without it, or if it is empty, it shows none.
const Variable = "ARKE_MUTANT"

// module is the path of the module that has the bugs.
const module = "github.com/arke-mesh/arke"

// Build builds the program that has all of the bugs, of which the environment
// chooses one, from the sources in root.
func Build(ctx context.Context, root, program string, bugs []Bug) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	files, err := overlay(os.DirFS(root), bugs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "arke-overlay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, err := write(dir, root, files)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", list, "-o", program, "./cmd/arke")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mutation: the product with the bugs does not compile: %w\n%s", err, out)
	}
	return nil
}

// write lays the files out in dir and returns the path of the list that
// `go build -overlay` reads.
func write(dir, root string, files map[string]string) (string, error) {
	replace := make(map[string]string, len(files))
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		replace[filepath.Join(root, filepath.FromSlash(name))] = to
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o644)
}

// overlay returns the files, by path, that differ from those of the product, or
// are not in it. The error names each bug that has no place in it.
func overlay(product fs.FS, bugs []Bug) (map[string]string, error) {
	layers := make(map[string][]Bug)
	for _, b := range bugs {
		layers[b.Layer] = append(layers[b.Layer], b)
	}
	out := map[string]string{"internal/mutant/mutant.go": chooser(bugs)}
	var errs []error
	for _, layer := range slices.Sorted(maps.Keys(layers)) {
		files, err := sources(product, layer)
		if err == nil {
			err = overlayPackage(out, layer, files, layers[layer])
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// overlayPackage adds the files of one package to out.
func overlayPackage(out map[string]string, layer string, files map[string]string, bugs []Bug) error {
	versions := make(map[string][]version)
	var errs []error
	for _, b := range bugs {
		changed, err := b.patch(files)
		errs = append(errs, err)
		for file, text := range changed {
			versions[file] = append(versions[file], version{b, text})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for file, those := range versions {
		name := path.Join(layer, file)
		text, err := withSwitches(name, files[file], those)
		if err != nil {
			return err
		}
		out[name] = text
		if name = path.Join(layer, "mutants.go"); out[name] == "" {
			parsed, err := parse(file, files[file])
			if err != nil {
				return err
			}
			out[name] = variables(parsed.syntax.Name.Name, bugs)
		}
	}
	return nil
}

// sources returns the product files of one package.
func sources(product fs.FS, layer string) (map[string]string, error) {
	entries, err := fs.ReadDir(product, layer)
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	files := make(map[string]string)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text, err := fs.ReadFile(product, path.Join(layer, name))
			if err != nil {
				return nil, fmt.Errorf("mutation: %w", err)
			}
			files[name] = string(text)
		}
	}
	return files, nil
}

// variables is the file of a package that says which of its bugs is chosen.
func variables(name string, bugs []Bug) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport %q\n\nvar (\n", name, module+"/internal/mutant")
	for _, bug := range bugs {
		fmt.Fprintf(&b, "\t%s = mutant.Chosen == %q\n", variable(bug.Name), bug.Name)
	}
	b.WriteString(")\n")
	return b.String()
}

// chooser is the package that reads the environment. A name that is none ends
// the program: the score of a run without a bug would be wrong.
func chooser(bugs []Bug) string {
	names := []string{`""`}
	for _, b := range bugs {
		names = append(names, fmt.Sprintf("%q", b.Name))
	}
	return fmt.Sprintf(`package mutant

import "os"

var Chosen = choose(os.Getenv(%[1]q))

func choose(name string) string {
	switch name {
	case %[2]s:
		return name
	}
	os.Stderr.WriteString("%[1]s=" + name + ": there is no bug of that name\n")
	os.Exit(2)
	return ""
}
`, Variable, strings.Join(names, ", "))
}
