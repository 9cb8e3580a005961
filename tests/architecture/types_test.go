// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A type has one owner. These are its bounds: a type beyond them does the work
// of several, however short its files are. Methods have no bound of their own: one was
// met by functions that take the type first, and by embedding.
const (
	maxFields      = 20
	maxMethodFiles = 3
)

// shape is how large a type is.
type shape struct {
	methods, fields int
	files           map[string]bool // that hold its methods
}

func (s shape) String() string {
	return fmt.Sprintf("%d methods in %d files, %d fields", s.methods, len(s.files), s.fields)
}

func (s shape) within() bool {
	return s.fields <= maxFields && len(s.files) <= maxMethodFiles
}

// isPlain says whether a struct is data, not an owner: configurations, records
// of a trace and messages may have as many fields as there are facts.
func isPlain(name string, s shape) bool {
	return s.methods <= 4 && (ast.IsExported(name) || strings.HasSuffix(name, "Config"))
}

// TestTypesHaveOneOwner checks that no type has more than 20 fields, or
// methods in more than three files.
func TestTypesHaveOneOwner(t *testing.T) {
	types := shapes(t)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		s := types[name]
		ok := s.within() || isPlain(path.Ext(name)[1:], s)
		require.True(t, ok, "%s has %s: take it apart by what it owns", name, s)
	}
}

// shapes measures every type of the product, by package and name.
func shapes(t *testing.T) map[string]shape {
	t.Helper()
	all := map[string]shape{}
	sources(t, func(file, text string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				addMethod(all, file, d)
			case *ast.GenDecl:
				addStructs(all, file, d)
			}
		}
	})
	return all
}

func addMethod(all map[string]shape, file string, d *ast.FuncDecl) {
	if d.Recv == nil {
		return
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	name := path.Dir(file) + "." + of.(*ast.Ident).Name
	s := all[name]
	if s.files == nil {
		s.files = map[string]bool{}
	}
	s.files[file] = true
	s.methods++
	all[name] = s
}

func addStructs(all map[string]shape, file string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		of, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		fields, ok := of.Type.(*ast.StructType)
		if !ok {
			continue
		}
		name := path.Dir(file) + "." + of.Name.Name
		s := all[name]
		for _, f := range fields.Fields.List {
			s.fields += max(len(f.Names), 1)
		}
		all[name] = s
	}
}
