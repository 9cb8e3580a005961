// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

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
