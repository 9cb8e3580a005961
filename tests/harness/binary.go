// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Main is what TestMain of a package of scenarios calls: it runs the tests
// and removes the binary afterwards.
func Main(m interface{ Run() int }) int {
	defer RemoveBinary()
	return m.Run()
}

// RemoveBinary removes what Binary has built.
func RemoveBinary() { shared.remove() }

// Binary returns the path of the arke binary under test.
func Binary(t TB) string {
	t.Helper()
	path, err := shared.build()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

// shared is the one thing that all tests of a run share.
var shared built

// built is a binary that is built when it is first asked for.
type built struct {
	once sync.Once
	path string
	err  error
}

func (b *built) build() (string, error) {
	b.once.Do(func() {
		var dir string
		if dir, b.err = os.MkdirTemp("", "arke-bin-"); b.err != nil {
			return
		}
		b.path = filepath.Join(dir, "arke")
		args := []string{"build", "-o", b.path}
		if raced {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "github.com/arke-mesh/arke/cmd/arke")...).CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("building arke: %w\n%s", err, out)
		}
	})
	return b.path, b.err
}

func (b *built) remove() {
	if b.path != "" {
		os.RemoveAll(filepath.Dir(b.path))
	}
}
