// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package execute_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/patterns"
)

func TestTheFirstProcessOfAContainerCollectsOrphans(t *testing.T) {
	// This test checks that no zombie is left of what commands leave behind, in their
	// own session, too, and that each command still gets its own status. The process
	// that adopts orphans is this one, instead of the first of the machine.
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) }()
	orphans := execute.NewOrphans()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		orphans.Reap(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	h := execute.Handler{Orphans: orphans}
	for i := range 20 {
		h.Command = "(sleep 0.1 >/dev/null 2>&1 &); setsid sh -c '(true &); sleep 0.1' >/dev/null 2>&1 & echo hi; exit " + strconv.Itoa(i%2)
		reply, err := h.ServeRequest(t.Context(), &patterns.Request{})
		if i%2 == 0 {
			require.NoError(t, err)
			require.Equal(t, "hi\n", string(reply.Body))
		} else {
			require.ErrorContains(t, err, "exit status 1")
		}
	}
	require.Eventually(t, func() bool { return len(children(t)) == 0 }, time.Minute, 50*time.Millisecond)
}

// children returns the status lines of this process's children.
func children(t *testing.T) (lines []string) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has gone
		}
		// proc_pid_stat(5): id (name) state parent …
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[1] == strconv.Itoa(os.Getpid()) {
			lines = append(lines, string(stat))
		}
	}
	return lines
}
