// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// queuedLines is how many lines of the log wait for their reader at most; one is some
// hundred bytes long.
const queuedLines = 1024

// logQueue keeps log lines from blocking the process when the reader of standard error
// stops reading. Lines beyond queuedLines are dropped and counted. Write may be called
// concurrently.
type logQueue struct {
	to      io.Writer
	lines   chan []byte
	dropped atomic.Int64

	start sync.Once
	ends  chan struct{} // closed by close
	ended chan struct{} // closed when the goroutine has written all
}

func newLogQueue(to io.Writer) *logQueue {
	return &logQueue{to: to, lines: make(chan []byte, queuedLines), ends: make(chan struct{}), ended: make(chan struct{})}
}

// Write queues a line, which it copies, or drops it.
func (q *logQueue) Write(line []byte) (int, error) {
	q.start.Do(func() { go q.run() })
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.dropped.Add(1)
	}
	return len(line), nil
}

// close waits until what was queued is written, a second at most: nothing can interrupt
// a write to a full pipe, so its goroutine then ends with the process.
func (q *logQueue) close() {
	q.start.Do(func() { close(q.ended) })
	close(q.ends)
	select {
	case <-q.ended:
	case <-time.After(time.Second):
	}
}

func (q *logQueue) run() {
	defer close(q.ended)
	for {
		select {
		case line := <-q.lines:
			q.write(line)
		case <-q.ends:
			for len(q.lines) > 0 {
				q.write(<-q.lines)
			}
			return
		}
	}
}

func (q *logQueue) write(line []byte) {
	_, _ = q.to.Write(line) // there is no other place to complain
	if n := q.dropped.Swap(0); n > 0 {
		fmt.Fprintf(q.to, "arke: dropped %d lines of the log: standard error was not read\n", n)
	}
}
