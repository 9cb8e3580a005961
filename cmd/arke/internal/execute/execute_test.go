// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package execute_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/patterns"
)

func TestBodyIsInputAndOutputIsReply(t *testing.T) {
	// This test checks that bytes pass through unchanged, also none at all
	// and more than a pipe holds.
	for _, body := range [][]byte{nil, []byte("hello\n"), {0, 255, 10}, bytes.Repeat([]byte("x"), 1<<20)} {
		reply, err := execute.Handler{Command: "cat"}.ServeRequest(t.Context(), &patterns.Request{Body: body})
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, reply.Body))
	}
}

func TestFailureIsARemoteErrorWithStandardErrorAsMessage(t *testing.T) {
	// This test checks what the caller is told about a command that fails.
	for command, want := range map[string]string{
		"echo no such zone >&2; exit 3":       "no such zone",
		"exit 3":                              "exit status 3",
		"echo reply; echo broken >&2; exit 1": "broken",
		"kill -9 $$":                          "signal: killed",
		"head -c 9000 /dev/zero | tr '\\0' e >&2; false":             strings.Repeat("e", execute.MaxMessage),
		"head -c " + strconv.Itoa(execute.MaxReply+1) + " /dev/zero": "the command printed more than 16777216 bytes",
	} {
		_, err := execute.Handler{Command: command}.ServeRequest(t.Context(), &patterns.Request{Cluster: "zones"})
		require.Equal(t, &patterns.RemoteError{Cluster: "zones", Code: patterns.CodeExit, Message: want}, err)
	}
}

func TestCommandAndItsChildrenDieWithTheRequest(t *testing.T) {
	// This test checks that nothing the command started outlives the
	// request's context.
	command, child := parent(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := execute.Handler{Command: command}.ServeRequest(ctx, &patterns.Request{})
		ended <- err
	}()
	pid := child()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool { return dead(pid) }, time.Minute, 5*time.Millisecond)
}

// parent is a command that starts another process and waits for it; child returns
// the id of that process as soon as it runs.
func parent(t *testing.T) (command string, child func() int) {
	file := filepath.Join(t.TempDir(), "pid")
	return "sleep 600 & echo $! >" + file + ".new; mv " + file + ".new " + file + "; wait", func() (pid int) {
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(file)
			if err == nil {
				pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			return err == nil
		}, time.Minute, 5*time.Millisecond)
		return pid
	}
}

// dead says that no process has that id, or that it only waits for its parent
// to notice.
func dead(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestACommandHasEndedWhenItsShellHas(t *testing.T) {
	// This test checks that a child in the background, which holds the command's
	// output, neither delays the reply by more than a moment nor makes it an error.
	began := time.Now()
	reply, err := execute.Handler{Command: "sleep 60 & echo hi"}.ServeRequest(t.Context(), &patterns.Request{})
	require.NoError(t, err)
	require.Equal(t, "hi\n", string(reply.Body))
	require.Less(t, time.Since(began), 30*time.Second)
}
