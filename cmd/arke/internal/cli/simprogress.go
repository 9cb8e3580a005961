// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/runner"
)

// How often progress is shown: often on a terminal, where it overwrites itself,
// and seldom in a log. A run that is over sooner shows none.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressInLog      = 5 * time.Second
)

// simProgress shows how far several runs are. Its methods may be called by any
// goroutine.
type simProgress struct {
	w        io.Writer // nil = quiet
	terminal bool
	every    time.Duration

	mu    sync.Mutex
	done  int // runs; guarded by mu, like all below
	total int
	shown time.Time
	width int // of what stands on the terminal's line
}

func (s sims) progress(total int, quiet bool) *simProgress {
	p := &simProgress{every: progressInLog, total: total, shown: time.Now()}
	if quiet {
		return p
	}
	p.w = s.Stderr
	if isTerminal(s.Stderr) {
		p.terminal, p.every = true, progressOnTerminal
	}
	return p
}

// update shows how far the run of that name is.
func (p *simProgress) update(name string, at runner.Progress) {
	p.line(howFar(name, at))
}

// line shows a line, if it is time for one.
func (p *simProgress) line(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || time.Since(p.shown) < p.every {
		return
	}
	p.shown = time.Now()
	line += p.count()
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

func howFar(name string, at runner.Progress) string {
	if at.Whole == 0 {
		return name + ": the network starts"
	}
	line := fmt.Sprintf("%s: %.0f of %.0f s, %.1f times real time", name, at.Virtual.Seconds(), at.Whole.Seconds(), at.Ratio())
	if at.Events > 0 {
		line += fmt.Sprintf(", %d events", at.Events)
	}
	return line
}

func (p *simProgress) count() string {
	if p.total < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d runs done)", p.done, p.total)
}

// finish counts a run and clears the line, for a result to be printed.
func (p *simProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.clear()
}

func (p *simProgress) clear() {
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
