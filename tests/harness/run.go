// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// runTime bounds a command that is to end by itself. Some of them compute.
const runTime = 5 * Patience

// Result is what a command that ended by itself left behind.
type Result struct {
	t      TB
	args   []string
	Stdout string
	Stderr string
	Code   int // exit status
}

// Run runs the binary to its end.
func Run(t TB, args ...string) Result {
	t.Helper()
	return Command{Args: args}.Run(t)
}

// Command is a run of the binary with more than arguments.
type Command struct {
	Args  []string
	Env   []string // beside the test's own, KEY=VALUE
	Stdin string
}

// Run runs the command to its end. Variables that mean something to arke are
// not taken from the test's environment.
func (c Command) Run(t TB) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(Binary(t), c.Args...)
	cmd.Env = append(environment(), c.Env...)
	cmd.Stdin = strings.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	tie(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatalf("arke %v: %v", c.Args, err)
	}
	late := time.AfterFunc(runTime, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("arke %v: %v", c.Args, err)
	}
	if sign := crashed(stderr.String()); sign != "" {
		t.Errorf("arke %v printed %q:\n%s", c.Args, sign, stderr.String())
	}
	return Result{t: t, args: c.Args, Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// Start starts the command and waits for the line that begins with ready;
// without one it does not wait. Its standard input is empty.
func (c Command) Start(t TB, ready string) *Process {
	t.Helper()
	p := spawn(t, "arke "+strings.Join(c.Args, " "), ready, c.Env, append([]string{Binary(t)}, c.Args...)...)
	if ready != "" {
		p.waitReady()
	}
	return p
}

// Ends checks the exit status.
func (r Result) Ends(code int) Result {
	r.t.Helper()
	if r.Code != code {
		r.t.Fatalf("%s: exit status %d, want %d", r, r.Code, code)
	}
	return r
}

// Gets checks that it succeeded and printed exactly that.
func (r Result) Gets(stdout string) Result {
	r.t.Helper()
	r.Ends(0)
	if r.Stdout != stdout {
		r.t.Fatalf("%s: want %q", r, stdout)
	}
	return r
}

// Says checks that it gave exactly one line of explanation and that the line
// contains each of the texts.
func (r Result) Says(texts ...string) Result {
	r.t.Helper()
	line, more, _ := strings.Cut(r.Stderr, "\n")
	if line == "" || more != "" {
		r.t.Fatalf("%s: want one line on standard error", r)
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			r.t.Fatalf("%s: want %q on standard error", r, text)
		}
	}
	return r
}

// String describes the result in a failure.
func (r Result) String() string {
	return fmt.Sprintf("arke %s\n--- status %d, standard output:\n%s--- standard error:\n%s---\n",
		strings.Join(r.args, " "), r.Code, r.Stdout, r.Stderr)
}

// environment is the test's own, without what means something to arke.
func environment() []string {
	var kept []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ARKE_") && !strings.HasPrefix(kv, "XDG_RUNTIME_DIR=") {
			kept = append(kept, kv)
		}
	}
	// With the race detector a process would wait for a second before it ends.
	return append(kept, "GORACE=atexit_sleep_ms=10")
}
