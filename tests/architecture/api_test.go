// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	updateAPI = flag.Bool("update-api", false, "write testdata/api anew")
	withGRPC  = flag.Bool("grpc", false, "look at arkegrpc, too, which needs google.golang.org/grpc")
)

// eachPublic calls visit for each public package with its name, as it was
// compiled.
func eachPublic(t *testing.T, visit func(name string, p *types.Package)) {
	t.Helper()
	load := func(dir string, paths ...string) {
		exports := map[string]string{}
		cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, paths...)...)
		cmd.Dir = filepath.Join(root, dir)
		out, err := cmd.Output()
		require.NoError(t, err)
		for line := range strings.Lines(string(out)) {
			path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
			exports[path] = file
		}
		from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
		for _, path := range paths {
			p, err := from.Import(path)
			require.NoError(t, err)
			visit(p.Name(), p)
		}
	}
	var paths []string
	for _, folder := range public {
		paths = append(paths, strings.TrimSuffix(module+strings.TrimPrefix(folder, "."), "/"))
	}
	load(".", paths...)
	if *withGRPC {
		load("arkegrpc", module+"arkegrpc")
	}
}

// TestPublicAPIIsAsItWas compares what the public packages export with the files
// in testdata/api. Who changes the API on purpose writes them anew, and says so
// in CHANGELOG.md:
//
//	go test ./tests/architecture -run PublicAPI -update-api -grpc
func TestPublicAPIIsAsItWas(t *testing.T) {
	eachPublic(t, func(name string, p *types.Package) {
		file := filepath.Join("testdata", "api", name+".txt")
		got := strings.Join(exported(p), "\n") + "\n"
		if *updateAPI {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			return
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got,
			"package %s exports something else than before. If that is meant, write it to CHANGELOG.md, and run: "+
				"go test ./tests/architecture -run PublicAPI -update-api -grpc", name)
	})
}

// exported lists what a package exports, one thing a line.
func exported(p *types.Package) (lines []string) {
	short := types.RelativeTo(p)
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		of, isType := o.(*types.TypeName)
		if !isType {
			if c, ok := o.(*types.Const); ok {
				add("%s = %s", types.ObjectString(o, short), c.Val())
			} else {
				add("%s", types.ObjectString(o, short))
			}
			continue
		}
		switch under := of.Type().Underlying().(type) {
		case *types.Struct:
			add("type %s struct", name)
			for f := range under.Fields() {
				if f.Exported() {
					add("type %s struct, %s %s", name, f.Name(), types.TypeString(f.Type(), short))
				}
			}
		case *types.Interface:
			add("type %s interface", name)
			for m := range under.Methods() {
				if m.Exported() {
					add("type %s interface, %s%s", name, m.Name(), strings.TrimPrefix(types.TypeString(m.Type(), short), "func"))
				} else {
					add("type %s interface, which only this package implements", name)
				}
			}
			continue
		default:
			add("%s", types.ObjectString(o, short))
		}
		methods := types.NewMethodSet(types.NewPointer(of.Type()))
		for m := range methods.Methods() {
			if m.Obj().Exported() {
				add("%s", types.ObjectString(m.Obj(), short))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// TestPublicAPIHasNoInnerTypes checks that a user never meets a type of a
// package that makes no promise.
func TestPublicAPIHasNoInnerTypes(t *testing.T) {
	eachPublic(t, func(name string, p *types.Package) {
		w := walker{seen: map[types.Type]bool{}, inner: func(from string, of *types.Named) {
			t.Errorf("%s.%s shows %s, which is not public", name, from, of)
		}}
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); ast.IsExported(name) {
				w.from = name
				w.walk(o.Type())
			}
		}
	})
}

// walker looks at all that users can see of a type.
type walker struct {
	from  string
	seen  map[types.Type]bool
	inner func(from string, of *types.Named)
}

func (w *walker) walk(of types.Type) {
	if of == nil || w.seen[of] {
		return
	}
	w.seen[of] = true
	switch of := of.(type) {
	case *types.Named:
		w.named(of)
	case *types.Alias:
		w.walk(types.Unalias(of))
	case *types.Signature:
		w.tuple(of.Params())
		w.tuple(of.Results())
	case *types.Struct:
		for f := range of.Fields() {
			if f.Exported() {
				w.walk(f.Type())
			}
		}
	case *types.Interface:
		for m := range of.Methods() {
			if m.Exported() {
				w.walk(m.Type())
			}
		}
	case *types.Map:
		w.walk(of.Key())
		w.walk(of.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(of.Elem())
	}
}

func (w *walker) tuple(all *types.Tuple) {
	for v := range all.Variables() {
		w.walk(v.Type())
	}
}

func (w *walker) named(of *types.Named) {
	p := of.Obj().Pkg()
	if p == nil {
		return // error
	}
	folder, ours := folderOf(p.Path())
	switch {
	case !ours:
		return
	case !slices.Contains(public, folder) && folder != "arkegrpc":
		w.inner(w.from, of)
		return
	}
	for i := range of.TypeArgs().Len() {
		w.walk(of.TypeArgs().At(i))
	}
	w.walk(of.Underlying())
	for m := range of.Methods() {
		if m.Exported() {
			w.walk(m.Type())
		}
	}
}
