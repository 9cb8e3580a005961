// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
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
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
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

// Kill ends the process with SIGKILL and waits for its end. It is idempotent.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// Interrupt sends SIGTERM and does not wait; the process may have ended.
func (p *Process) Interrupt() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// Terminate sends SIGTERM, waits for the end and returns the exit status.
func (p *Process) Terminate() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.Wait(time.Minute)
}

// Wait waits for the end and returns the exit status, -1 for a signal.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.t.Fatalf("%s did not end within %s", p.name, limit)
	}
	return p.cmd.ProcessState.ExitCode()
}

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
