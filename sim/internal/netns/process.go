// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// relayReady begins the line of a relay that serves.
	relayReady = "arke relay ready "
	// readyTime is how long a relay may take to serve; generous, because many
	// may start at once on a small machine.
	readyTime = 30 * time.Second
	// logTail is how much of a log an error repeats, in bytes.
	logTail = 2 << 10
)

// process is one run of a relay or a gateway.
type process struct {
	cmd   *exec.Cmd
	log   string        // path
	ready chan string   // carries the ready line, then is closed
	done  chan struct{} // closed when the process has ended and was waited for
	wg    sync.WaitGroup
}

// startProcess starts the command at a site, which serves when it prints a line that
// begins with ready. What it prints to stderr is appended to the log.
func startProcess(s *site, cmd *exec.Cmd, ready, log string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stderr = file
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	tie(cmd)
	p := &process{cmd: cmd, log: log, ready: make(chan string, 1), done: make(chan struct{})}
	if err := s.start(cmd); err != nil {
		return nil, err
	}
	p.wg.Go(func() { p.follow(ready, stdout) })
	return p, nil
}

// follow passes the ready line on and waits for the end.
func (p *process) follow(ready string, stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, ready); ok {
			select {
			case p.ready <- rest:
			default: // it said so before
			}
		}
		if err != nil {
			break
		}
	}
	close(p.ready)
	_ = p.cmd.Wait() // how it ended is known by who ended it
	close(p.done)
}

// readyLine is what a relay, or a gateway for each of its networks, prints when it serves.
type readyLine struct {
	Peer     string               `json:"peer"`
	Networks map[string]readyLine `json:"networks"`
}

func (p *process) awaitReady(ctx context.Context) (readyLine, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	var line readyLine
	select {
	case text, ok := <-p.ready:
		if !ok {
			return line, fmt.Errorf("it ended before it served: %s", p.tail())
		}
		return line, json.Unmarshal([]byte(text), &line)
	case <-ctx.Done():
		return line, fmt.Errorf("it does not serve yet: %w", ctx.Err())
	}
}

// tail returns the end of the log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-logTail):]))
}

// alive says whether the process runs, or is paused.
func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process and waits. It is idempotent.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	p.wg.Wait()
}

// terminate asks the process to drain and waits for its end; when ctx ends it
// is killed, which is an error.
func (p *process) terminate(ctx context.Context) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("it did not drain: %w", ctx.Err())
	}
}
