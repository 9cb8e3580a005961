// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The product reads the wall clock in one place. A process can't be given a wrong
// clock of its own (time namespaces have none), so the binary for machines whose clock
// is off is built with that place replaced (go build -overlay), as sim/mutation does it;
// nothing of this is in the product. Only the wall clock is wrong: monotonic time, by
// which timers and deadlines of sockets go, runs as it should, as on such a machine.
const (
	clockFile = "overlay/machine.go"
	clockLine = "func (realClock) Now() time.Time { return time.Now() }"

	clockVariable = "DRILL_CLOCK_OFF" // a file with a duration; seconds count

	wrongClock = `// Now is off by what the file says that DRILL_CLOCK_OFF names. The first word of a
// time.Time has seconds of the wall clock in bits 30 to 62, while there is a monotonic
// reading beside them.
func (realClock) Now() time.Time {
	t := time.Now()
	*(*uint64)(unsafe.Pointer(&t)) += uint64(drillOff.Load()) << 30
	return t
}

var drillOff atomic.Int64

func init() {
	look := func() {
		text, err := os.ReadFile(os.Getenv("DRILL_CLOCK_OFF"))
		d, err2 := time.ParseDuration(string(text))
		if err != nil || err2 != nil {
			panic(fmt.Sprint(err, err2))
		}
		drillOff.Store(int64(d / time.Second))
	}
	look()
	go func() {
		for ; ; time.Sleep(20 * time.Millisecond) {
			look()
		}
	}()
}`
)

// BinaryWithClock returns the path of an arke binary that has a wrong clock.
func BinaryWithClock(t TB) string {
	t.Helper()
	path, err := shifted.build(withClock)
	must(t, err)
	return path
}

// withClock writes what replaces the file with the clock.
func withClock(dir string) ([]string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	file := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), filepath.FromSlash(clockFile))
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	changed := strings.Replace(string(text), clockLine, wrongClock, 1)
	if changed == string(text) {
		return nil, fmt.Errorf("%s has no line %q any more", clockFile, clockLine)
	}
	changed = strings.Replace(changed, "import (", "import (\n\t\"fmt\"\n\t\"os\"\n\t\"sync/atomic\"\n\t\"unsafe\"", 1)
	by, list := filepath.Join(dir, "machine.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: by}})
	if err != nil {
		return nil, err
	}
	for path, text := range map[string]string{by: changed, list: string(replace)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"-overlay", list}, nil
}
