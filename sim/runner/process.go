// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// keepOutput bounds what is kept of what a child prints: its end.
const keepOutput = 1 << 20

// Process carries out jobs in child processes. The zero value is usable; it
// may be used by any goroutine.
type Process struct {
	// Command is a program and its arguments that call ChildMain. Default:
	// this program with `sim child`.
	Command []string
}

// Run is an Executor.
func (p Process) Run(ctx context.Context, job Job, progress func(Progress)) (*Findings, error) {
	job, err := job.Prepare()
	if err != nil {
		return nil, err
	}
	end, err := p.child(ctx, request{Jobs: []Job{job}}, progress)
	if err != nil {
		return nil, err
	}
	if end.Outcome == nil {
		return nil, &ChildError{Text: "the child sent no outcome"}
	}
	return end.Outcome, nil
}

// Compare is a Comparer. Both runs are made by the same child, one after the
// other.
func (p Process) Compare(ctx context.Context, a, b Job) (string, error) {
	req := request{Jobs: []Job{a, b}}
	for i, job := range req.Jobs {
		job.Record = true
		var err error
		if req.Jobs[i], err = job.Prepare(); err != nil {
			return "", err
		}
	}
	end, err := p.child(ctx, req, nil)
	if err != nil {
		return "", err
	}
	return end.Difference, nil
}

// child starts a process, sends it the request and waits for it.
func (p Process) child(ctx context.Context, req request, progress func(Progress)) (*ending, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd, err := p.command(ctx, req.Jobs[0].Level)
	if err != nil {
		w.Close()
		return nil, err
	}
	printed := &tail{keep: keepOutput}
	cmd.Stdout, cmd.Stderr = printed, printed
	cmd.ExtraFiles = []*os.File{w}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		// Its end asks the child to end; at level net it tidies up first.
		cmd.Cancel = stdin.Close
		err = cmd.Start()
	}
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("runner: starting a child: %w", err)
	}
	// A child that does not read its job says why when it ends.
	_ = gob.NewEncoder(stdin).Encode(req)
	end := listen(r, progress)
	stdin.Close()
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case end == nil:
		return nil, &ChildError{Text: crash(printed.bytes(), err), Output: printed.bytes(), Crashed: true}
	case end.Error != "":
		return nil, &ChildError{Text: end.Error, Output: printed.bytes(), Crashed: end.Crashed, level: end.Level}
	}
	return end, nil
}

func (p Process) command(ctx context.Context, level string) (*exec.Cmd, error) {
	command := p.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("runner: %w", err)
		}
		command = []string{self, "sim", "child"}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 2 * time.Second
	if level == LevelNet {
		cmd.WaitDelay = 15 * time.Second
	}
	return cmd, nil
}

// listen reads messages until the last one, or until the child is gone.
func listen(r io.Reader, progress func(Progress)) *ending {
	began := time.Now()
	dec := gob.NewDecoder(r)
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
			return nil
		}
		if m.End != nil {
			return m.End
		}
		if progress != nil {
			progress(Progress{Virtual: m.Virtual, Whole: m.Whole, Real: time.Since(began), Events: m.Events})
		}
	}
}

// crash says in one line why a child is gone: its panic, or its exit status.
func crash(output []byte, err error) string {
	for line := range bytes.Lines(output) {
		for _, prefix := range []string{"panic: ", "fatal error: "} {
			if bytes.HasPrefix(line, []byte(prefix)) {
				return "the run crashed: " + string(bytes.TrimSpace(line))
			}
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Sprintf("the child ended with %v and no outcome", exit.ProcessState)
	}
	return "the child ended without an outcome"
}

// tail keeps the end of what is written to it.
type tail struct {
	keep int
	mu   sync.Mutex
	buf  []byte // guarded by mu; at most twice keep
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.keep {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.keep:]...)
	}
	return len(p), nil
}

// bytes returns what is kept.
func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.buf[max(0, len(t.buf)-t.keep):]...)
}
