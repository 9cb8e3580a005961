// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	readyTime = 20 * time.Second // until a child must be ready
	stopTime  = 5 * time.Second  // between SIGTERM and SIGKILL
)

// process is one child.
type process struct {
	name string
	log  string // file with its standard error
	cmd  *exec.Cmd
	// ready carries the rest of its ready line, then is closed.
	ready chan string
	// done is closed when it has ended and been waited for.
	done chan struct{}
}

// start runs the binary with args; prefix begins its ready line.
func start(name, binary, log, prefix string, args ...string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{name: name, log: log, ready: make(chan string, 1), done: make(chan struct{})}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stderr = file
	attach(p.cmd)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				select {
				case p.ready <- strings.TrimSpace(rest):
				default: // it said so before
				}
			}
		}
		close(p.ready)
		_ = p.cmd.Wait() // killed by us, or its log says why
	}()
	return p, nil
}

// waitReady returns the rest of the ready line.
func (p *process) waitReady(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	select {
	case line, ok := <-p.ready:
		if !ok {
			return "", fmt.Errorf("demo: %s ended before it was ready: %s", p.name, p.lastWords())
		}
		return line, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", fmt.Errorf("demo: %s was not ready after %s: %s", p.name, readyTime, p.lastWords())
		}
		return "", ctx.Err()
	}
}

// kill ends the process without asking, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// stop asks the process to end, and insists after a while.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTime):
		p.kill()
	}
}

// lastWords returns the end of the process's log as one line.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil || len(text) == 0 {
		return "it logged nothing"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}
