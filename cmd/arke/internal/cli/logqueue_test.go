// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// stuck is a writer whose reader does not read before it is told to.
type stuck struct {
	reads chan struct{}
	bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.reads
	return s.Buffer.Write(p)
}

func TestALogThatNobodyReadsBlocksNothing(t *testing.T) {
	// This test checks that lines are dropped beyond the bound, and counted when the
	// reader reads again; that the order is kept; and that the end waits for a second.
	synctest.Test(t, func(t *testing.T) {
		to := &stuck{reads: make(chan struct{})}
		q := newLogQueue(to)
		line := func(i int) { fmt.Fprintf(q, "line %d\n", i) }
		line(0)
		synctest.Wait() // the goroutine has it in hand
		for i := range queuedLines + 10 {
			line(i + 1)
		}
		close(to.reads)
		q.close()
		lines := strings.Split(strings.TrimSpace(to.String()), "\n")
		require.Equal(t, "line 0", lines[0])
		require.Equal(t, "arke: dropped 10 lines of the log: standard error was not read", lines[1])
		require.Equal(t, fmt.Sprintf("line %d", queuedLines), lines[len(lines)-1])
		require.Len(t, lines, queuedLines+2)

		to = &stuck{reads: make(chan struct{})}
		q = newLogQueue(to)
		line(0)
		q.close()
		close(to.reads)
	})
}

func TestALogWithoutLinesHasNothingToEnd(t *testing.T) {
	// This test checks that a command that logs nothing needs no goroutine.
	to := &bytes.Buffer{}
	newLogQueue(to).close()
	require.Empty(t, to.String())
}
