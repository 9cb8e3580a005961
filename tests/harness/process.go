// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// readyTime is how long a process may take to be ready.
const readyTime = Patience

// Process is one run of the binary. A restarted one is a new Process.
type Process struct {
	t    TB
	name string
	cmd  *exec.Cmd

	// ready carries the rest of the ready line, then is closed.
	ready chan string
	// said is that rest, once it was waited for.
	said string
	// done is closed when the process has ended and been waited for.
	done chan struct{}

	mu sync.Mutex
	// Guarded by mu.
	lines   []string // what it printed, both streams
	printed []string // what it printed to standard output
}

// spawn starts the command line and has it killed when the test ends. A line
// that begins with prefix says that it is ready.
func spawn(t TB, name, prefix string, env []string, argv ...string) *Process {
	t.Helper()
	p := &Process{
		t:     t,
		name:  name,
		cmd:   exec.Command(argv[0], argv[1:]...),
		ready: make(chan string, 1),
		done:  make(chan struct{}),
	}
	p.cmd.Env = append(environment(), env...)
	tie(p.cmd)
	stdout, err := p.cmd.StdoutPipe()
	must(t, err)
	stderr, err := p.cmd.StderrPipe()
	must(t, err)
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.collect(stdout, prefix, true) })
	readers.Go(func() { p.collect(stderr, prefix, false) })
	go func() {
		readers.Wait()
		close(p.ready)
		_ = p.cmd.Wait() // its status is looked at where it matters
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if sign := crashed(p.Log()); sign != "" {
			t.Errorf("%s printed %q", name, sign)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, p.Log())
		}
	})
	return p
}

// crashed returns what in a log says that the process crashed or has a data
// race; "" if nothing does.
func crashed(log string) string {
	for _, sign := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
		if strings.Contains(log, sign) {
			return sign
		}
	}
	return ""
}

// collect keeps what the process prints and passes on the ready line.
func (p *Process) collect(r io.Reader, prefix string, stdout bool) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			p.mu.Lock()
			p.lines = append(p.lines, time.Now().Format("05.000 ")+line)
			if stdout {
				p.printed = append(p.printed, line)
			}
			p.mu.Unlock()
		}
		if rest, ok := strings.CutPrefix(line, prefix); ok && prefix != "" {
			select {
			case p.ready <- strings.TrimSpace(rest):
			default: // it said so before
			}
		}
		if err != nil {
			return
		}
	}
}

// waitReady returns the rest of the ready line.
func (p *Process) waitReady() string {
	p.t.Helper()
	select {
	case rest, ok := <-p.ready:
		if !ok {
			p.t.Fatalf("%s ended before it was ready", p.name)
		}
		p.said = rest
		return rest
	case <-time.After(readyTime):
		p.t.Fatalf("%s was not ready after %s", p.name, readyTime)
	}
	return ""
}

// PID returns its number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process with SIGKILL and waits for its end. It is idempotent.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// Interrupt sends SIGTERM and does not wait; the process may have ended.
func (p *Process) Interrupt() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// Terminate sends SIGTERM and waits for the end.
func (p *Process) Terminate() *Process {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.Wait()
	return p
}

// Wait waits for the end and returns the exit status, -1 for a signal.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		p.t.Fatalf("%s did not end within %s", p.name, Patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Ends waits for the end and checks the exit status.
func (p *Process) Ends(code int) {
	p.t.Helper()
	if got := p.Wait(); got != code {
		p.t.Errorf("%s: exit status %d, want %d", p.name, got, code)
	}
}

// Hangup sends SIGHUP and does not wait.
func (p *Process) Hangup() { p.t.Helper(); p.signal(syscall.SIGHUP) }

// Pause stops the process with SIGSTOP, Continue lets it run again.
func (p *Process) Pause() { p.t.Helper(); p.signal(syscall.SIGSTOP) }

// Continue undoes Pause.
func (p *Process) Continue() { p.t.Helper(); p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// Alive says whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Log returns what the process printed.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Printed returns the lines on standard output, without empty ones.
func (p *Process) Printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.printed)
}

// Said returns the rest of the line that said that it is ready.
func (p *Process) Said() string { return p.said }

// Logs returns an error unless the process has printed the text.
func (p *Process) Logs(text string) error {
	if !strings.Contains(p.Log(), text) {
		return fmt.Errorf("%s has not printed %q", p.name, text)
	}
	return nil
}

// Tells waits until the process has printed the text.
func (p *Process) Tells(text string) {
	p.t.Helper()
	Eventually(p.t, Patience, fmt.Sprintf("%q", text), func() error { return p.Logs(text) })
}

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
	// User and Group are who runs the command, with no other groups. Default: who runs
	// the tests. Another one takes root, and setpriv.
	User, Group int
	// Inside is the command line, if any, whose arguments this one is: on another
	// machine, say.
	Inside []string
}

// line is what is executed.
func (c Command) line(t TB) []string {
	line := append([]string{Binary(t)}, c.Args...)
	if c.User == 0 && c.Group == 0 {
		return append(slices.Clone(c.Inside), line...)
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skipf("needs setpriv, to be somebody else")
	}
	must(t, os.Chmod(filepath.Dir(line[0]), 0o755)) // or others can't execute it
	return slices.Concat(c.Inside, as(strconv.Itoa(c.User), strconv.Itoa(c.Group)), line)
}

// as begins the command line of what another user runs, and takes root.
func as(user, group string) []string {
	return []string{"setpriv", "--reuid", user, "--regid", group, "--clear-groups", "--pdeathsig", "KILL", "--"}
}

// Run runs the command to its end. Variables that mean something to arke are
// not taken from the test's environment.
func (c Command) Run(t TB) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	line := c.line(t)
	cmd := exec.Command(line[0], line[1:]...)
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
	p := spawn(t, "arke "+strings.Join(c.Args, " "), ready, c.Env, c.line(t)...)
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
