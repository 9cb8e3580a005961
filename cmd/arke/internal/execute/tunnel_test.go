// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package execute_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/cmd/arke/internal/fake"
	"github.com/arke-mesh/arke/patterns"
)

// runs has the command serve a tunnel, as a node would.
func runs(t *testing.T, command string) (caller *fake.Tunnel, ended chan error) {
	t.Helper()
	return serves(t, execute.Handler{Command: command})
}

func serves(t *testing.T, h execute.Handler) (caller *fake.Tunnel, ended chan error) {
	t.Helper()
	caller, member := fake.Pair(64 << 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() {
		defer cancel()
		err := h.ServeTunnel(ctx, member)
		if err != nil {
			_ = member.Reset(patterns.CodeUnknown, err.Error())
		} else {
			_ = member.Close()
		}
		ended <- err
	}()
	go func() {
		select {
		case <-member.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return caller, ended
}

// all receives until the end.
func all(t *testing.T, tunnel patterns.Tunnel) (string, error) {
	t.Helper()
	var text strings.Builder
	for {
		message, err := tunnel.Receive(t.Context())
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), err
		}
		text.Write(message)
	}
}

func TestTunnelIsInputAndOutputOfACommand(t *testing.T) {
	// This test checks that output comes while input goes on, that the end of
	// input is the caller's, and that bytes pass through unchanged.
	caller, ended := runs(t, "cat")
	for _, word := range []string{"one\n", "two\n", "\x00\xff"} {
		require.NoError(t, caller.Send(t.Context(), []byte(word)))
		got, err := caller.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, word, string(got))
	}
	require.NoError(t, caller.CloseSend())
	rest, err := all(t, caller)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.NoError(t, <-ended)
}

func TestCommandMayAnswerAfterTheEndOfItsInput(t *testing.T) {
	// This test checks half-close.
	caller, ended := runs(t, "wc -c")
	for range 100 {
		require.NoError(t, caller.Send(t.Context(), make([]byte, 10_000)))
	}
	require.NoError(t, caller.CloseSend())
	text, err := all(t, caller)
	require.NoError(t, err)
	require.Equal(t, "1000000", strings.TrimSpace(text))
	require.NoError(t, <-ended)
}

func TestCommandNeedNotReadItsInput(t *testing.T) {
	// This test checks that a command that ends early ends the tunnel in good
	// order, whatever the caller still sends.
	caller, ended := runs(t, "head -n 1")
	require.NoError(t, caller.Send(t.Context(), []byte("first\nsecond\n")))
	text, err := all(t, caller)
	require.NoError(t, err)
	require.Equal(t, "first\n", text)
	require.NoError(t, <-ended)
}

func TestFailedCommandResetsTheTunnel(t *testing.T) {
	// This test checks what is told of a status other than zero, after all
	// that the command printed.
	caller, ended := runs(t, "echo partial; echo no such table >&2; exit 3")
	err := <-ended
	require.Equal(t, &patterns.RemoteError{Code: patterns.CodeExit, Message: "no such table"}, err)
	_, err = all(t, caller)
	require.Error(t, err)
}

func TestACommandWorksOnWhenItsCallerHasClosed(t *testing.T) {
	// This test checks that a command gets all that its caller wrote before it closed,
	// and the end of its input, and then works on to its own end.
	file := filepath.Join(t.TempDir(), "got")
	caller, ended := runs(t, "cat >"+file+"; sleep 0.2; echo done >>"+file)
	for range 6 {
		require.NoError(t, caller.Send(t.Context(), []byte(strings.Repeat("x", 10_000))))
	}
	require.NoError(t, caller.Close())
	require.NoError(t, <-ended)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 60_000)+"done\n", string(got))
}

func TestACommandCantPrintForNobody(t *testing.T) {
	// This test closes both directions of a tunnel whose command prints without end: it
	// ends as one in a pipe does whose reader has gone.
	caller, ended := runs(t, "yes")
	_, err := caller.Receive(t.Context())
	require.NoError(t, err)
	require.NoError(t, caller.Close())
	<-ended
}

func TestTheEndOfADrainKillsCommands(t *testing.T) {
	// This test cuts off a command whose caller has closed in good order.
	cut := make(chan struct{})
	command, child := parent(t)
	caller, ended := serves(t, execute.Handler{Command: command, Cut: cut})
	pid := child()
	require.NoError(t, caller.Close())
	select {
	case err := <-ended:
		t.Fatal("it ended before: ", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(cut)
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool { return dead(pid) }, time.Minute, 5*time.Millisecond)
}

func TestCommandDiesWithItsTunnel(t *testing.T) {
	// This test checks that nothing the command started outlives a tunnel
	// that the caller resets, or whose node is lost.
	for name, end := range map[string]func(*fake.Tunnel){
		"reset": func(c *fake.Tunnel) { _ = c.Reset(7, "changed my mind") },
		"lost":  func(c *fake.Tunnel) { c.Lose() },
	} {
		t.Run(name, func(t *testing.T) {
			command, child := parent(t)
			caller, ended := runs(t, command)
			pid := child()
			end(caller)
			require.Error(t, <-ended)
			require.Eventually(t, func() bool { return dead(pid) }, time.Minute, 5*time.Millisecond)
		})
	}
}
