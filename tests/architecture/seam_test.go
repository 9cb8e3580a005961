// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// forbidden names what must come through the seam, by import path. An empty
// list forbids the import itself.
var forbidden = map[string][]string{
	"time":         {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"},
	"context":      {"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause"},
	"math/rand":    {},
	"math/rand/v2": {},
	"crypto/rand":  {},
}

// seamFiles implement the seam for production and so may use what the rest
// may not.
var seamFiles = map[string]bool{
	"overlay/machine.go": true,
}

// TestTimeAndRandomnessComeThroughTheSeam checks that the simulator controls
// every clock and every draw of the layers that it runs.
func TestTimeAndRandomnessComeThroughTheSeam(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !simulated(path) {
			continue
		}
		for _, name := range p.GoFiles {
			if !seamFiles[path+"/"+name] {
				checkFile(t, path+"/"+name, filepath.Join(p.Dir, name))
			}
		}
	}
}

func simulated(path string) bool {
	for _, folder := range []string{"security", "overlay", "cluster", "patterns", "node", "internal/node", "internal/match", "internal/inbox", "internal/conn", "internal/turn"} {
		if within(path, folder) {
			return !within(path, "overlay/p2p")
		}
	}
	return false
}

func checkFile(t *testing.T, name, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	names := map[string]string{} // local name -> import path
	for _, imp := range parsed.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		require.NoError(t, err)
		uses, known := forbidden[path]
		if !known {
			continue
		}
		require.NotEmpty(t, uses, "%s imports %s: randomness comes from overlay.Rand", name, path)
		local := filepath.Base(path)
		if imp.Name != nil {
			local = imp.Name.Name
		}
		names[local] = path
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Obj != nil { // a local variable of that name
			return true
		}
		for _, bad := range forbidden[names[id.Name]] {
			require.NotEqual(t, bad, sel.Sel.Name, "%s uses %s.%s: time comes from overlay.Clock", name, id.Name, bad)
		}
		return true
	})
}
