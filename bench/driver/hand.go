// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/arke-mesh/arke/bench/worker"
)

// hand is a worker, seen from the driver.
type hand struct {
	job   worker.Job
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *json.Encoder
	log   *tail
	words chan worker.Word
}

// hire starts a worker and gives it its job.
func hire(program string, job worker.Job) (*hand, error) {
	h := &hand{job: job, cmd: exec.Command(program), log: new(tail), words: make(chan worker.Word, 8)}
	tie(h.cmd)
	h.cmd.Stderr = h.log
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	h.in, h.out = in, json.NewEncoder(in)
	go func() {
		defer close(h.words)
		for d := json.NewDecoder(out); ; {
			var w worker.Word
			if d.Decode(&w) != nil {
				return
			}
			h.words <- w
		}
	}()
	return h, h.order(worker.Order{Do: "job", Job: &job})
}

func (h *hand) order(o worker.Order) error {
	if err := h.out.Encode(o); err != nil {
		return fmt.Errorf("%s: %w: %s", h.job.Role, err, h.log)
	}
	return nil
}

// hear waits until the worker says is.
func (h *hand) hear(is string, patience time.Duration) (worker.Word, error) {
	select {
	case w, ok := <-h.words:
		switch {
		case !ok:
			return w, fmt.Errorf("%s ended: %s", h.job.Role, h.log)
		case w.Is == "failed":
			return w, errors.New(string(h.job.Role) + ": " + w.Error)
		case w.Is != is:
			return w, fmt.Errorf("%s said %q instead of %q", h.job.Role, w.Is, is)
		}
		return w, nil
	case <-time.After(patience):
		return worker.Word{}, fmt.Errorf("%s did not say %q in %v: %s", h.job.Role, is, patience, h.log)
	}
}

// dismiss ends the worker.
func (h *hand) dismiss() {
	h.in.Close()
	done := time.AfterFunc(2*time.Second, func() { _ = h.cmd.Process.Kill() })
	for range h.words {
	}
	_ = h.cmd.Wait()
	done.Stop()
}
