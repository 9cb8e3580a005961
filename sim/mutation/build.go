// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// version is a file with a bug in it.
type version struct {
	bug  Bug
	text string
}

// source is a file of the product, parsed.
type source struct {
	text      string
	base      token.Pos // of its first byte
	syntax    *ast.File
	functions []*ast.FuncDecl
}

func parse(name, text string) (*source, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{text: text, syntax: syntax, base: syntax.FileStart}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			s.functions = append(s.functions, f)
		}
	}
	return s, nil
}

func (s *source) offset(p token.Pos) int { return int(p - s.base) }

func (s *source) slice(from, to token.Pos) string { return s.text[s.offset(from):s.offset(to)] }

// outside is what is left of the file without its functions' bodies.
func (s *source) outside() string {
	var b strings.Builder
	from := s.base
	for _, f := range s.functions {
		b.WriteString(s.slice(from, f.Body.Pos()))
		from = f.Body.End()
	}
	b.WriteString(s.slice(from, s.syntax.FileEnd))
	return b.String()
}

// splice is a replacement of a piece of text.
type splice struct {
	from, to int
	with     string
}

// withSwitches returns the file with a switch at the beginning of each function
// that a bug changes: the function with the bug stands at the end of the file,
// and is called in place of the product's if the bug is chosen. So no two bugs
// can be in each other's way.
func withSwitches(name, text string, versions []version) (string, error) {
	product, err := parse(name, text)
	if err != nil {
		return "", fmt.Errorf("mutation: %w", err)
	}
	var splices []splice
	var end strings.Builder
	switches := make(map[*ast.FuncDecl]string)
	for _, v := range versions {
		buggy, err := parse(name, v.text)
		switch {
		case err != nil:
			return "", fmt.Errorf("mutation: with %s: %w", v.bug.file(), err)
		case buggy.outside() != product.outside():
			return "", fmt.Errorf("mutation: %s changes more of %s than the bodies of functions", v.bug.file(), name)
		}
		for i, f := range product.functions {
			b := buggy.functions[i]
			if product.slice(f.Body.Pos(), f.Body.End()) == buggy.slice(b.Body.Pos(), b.Body.End()) {
				continue
			}
			other := f.Name.Name + "_" + identifier(v.bug.Name)
			switches[f] += fmt.Sprintf(" if %s { %s };", variable(v.bug.Name), call(f, other))
			// Errors of the compiler name the bug.
			fmt.Fprintf(&end, "\n//line %s.diff:1\n%s%s%s\n", v.bug.Name,
				buggy.slice(b.Pos(), b.Name.Pos()), other, buggy.slice(b.Name.End(), b.End()))
		}
	}
	for f, text := range switches {
		at := product.offset(f.Body.Lbrace) + 1
		splices = append(splices, splice{at, at, text})
		splices = append(splices, product.nameParameters(f)...)
	}
	slices.SortFunc(splices, func(a, b splice) int { return cmp.Compare(b.from, a.from) })
	for _, s := range splices {
		text = text[:s.from] + s.with + text[s.to:]
	}
	return text + end.String(), nil
}

// call calls, from within f, the function of the given name as f was called.
func call(f *ast.FuncDecl, name string) string {
	if f.Recv != nil {
		name = parameterName(f.Recv.List[0], 0, "receiver") + "." + name
	}
	if f.Type.TypeParams != nil {
		var types []string
		for _, field := range f.Type.TypeParams.List {
			for _, n := range field.Names {
				types = append(types, n.Name)
			}
		}
		name += "[" + strings.Join(types, ", ") + "]"
	}
	var args []string
	for i, field := range f.Type.Params.List {
		for j := range max(len(field.Names), 1) {
			arg := parameterName(field, j, fmt.Sprintf("parameter%d_", i))
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	name += "(" + strings.Join(args, ", ") + ")"
	if f.Type.Results == nil {
		return name + "; return"
	}
	return "return " + name
}

// parameterName is the name of the field's n-th parameter once nameParameters
// has given one to those that have none.
func parameterName(field *ast.Field, n int, prefix string) string {
	if n < len(field.Names) && field.Names[n].Name != "_" {
		return field.Names[n].Name
	}
	return fmt.Sprint(prefix, n)
}

// nameParameters gives f's receiver and parameters names where they have none,
// so that they can be passed on.
func (s *source) nameParameters(f *ast.FuncDecl) []splice {
	var out []splice
	name := func(field *ast.Field, prefix string) {
		if len(field.Names) == 0 {
			at := s.offset(field.Type.Pos())
			out = append(out, splice{at, at, parameterName(field, 0, prefix) + " "})
		}
		for i, n := range field.Names {
			if n.Name == "_" {
				out = append(out, splice{s.offset(n.Pos()), s.offset(n.End()), parameterName(field, i, prefix)})
			}
		}
	}
	if f.Recv != nil {
		name(f.Recv.List[0], "receiver")
	}
	for i, field := range f.Type.Params.List {
		name(field, fmt.Sprintf("parameter%d_", i))
	}
	return out
}

// identifier makes a bug's name one of Go.
func identifier(bug string) string { return strings.ReplaceAll(bug, "-", "_") }

// variable is the name of the variable, in every package that has the bug, that
// says whether it is the chosen one.
func variable(bug string) string { return "mutant_" + identifier(bug) }
