// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// TestThePageSuffices has a program in Python, which was written from the page in
// doc.go, serve, call, subscribe, publish, and come back to its session, also over
// TCP with a token.
func TestThePageSuffices(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	n := lone(t)
	require.NoError(t, n.Start(t.Context()))
	r, cfg := startOn(t, n, guard)
	at, token := cfg.Socket, ""
	python := func(args ...string) *exec.Cmd {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		t.Cleanup(cancel)
		cmd := exec.CommandContext(ctx, "python3", append([]string{"../tests/attach.py", at}, args...)...)
		cmd.Env = append(os.Environ(), "ARKE_TOKEN="+token)
		return cmd
	}
	output := func(args ...string) string {
		out, err := python(args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	start := func(first string, args ...string) (rest *bufio.Reader, wait func()) {
		cmd := python(args...)
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		rest = bufio.NewReader(pipe)
		line, err := rest.ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(line, first), line)
		return rest, func() { require.NoError(t, cmd.Wait()) }
	}

	_, served := start("member ", "serve", "geo", "2")
	require.Equal(t, "python: ping", output("call", "geo", "ping"))
	reply, err := n.Request(t.Context(), "geo", patterns.Message{Body: []byte(strings.Repeat("x", 200_000))})
	require.NoError(t, err)
	require.Equal(t, "python: "+strings.Repeat("x", 1000), string(reply.Body))
	served()

	lines, subscribed := start("subscribed", "subscribe", "news.>", "2")
	require.Equal(t, "nodes 1", output("publish", "news.today", "from python"))
	require.NoError(t, n.Publish(t.Context(), "news.now", patterns.Message{Body: []byte("from Go")}))
	text, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "news.today from python\nnews.now from Go\n", string(text))
	subscribed()

	calls := 0
	_, err = n.Serve(t.Context(), "slow", patterns.HandlerFunc(func(_ context.Context, q *patterns.Request) (patterns.Message, error) {
		calls++
		time.Sleep(50 * time.Millisecond)
		return patterns.Message{Body: q.Body}, nil
	}), patterns.Limits{})
	require.NoError(t, err)
	require.Equal(t, "resumed 10", output("reattach", "slow"))
	require.Equal(t, 10, calls, "none was lost, or done twice")
	require.Contains(t, output("status"), `"clients"`)
	require.Empty(t, r.Status().Drops)

	at, token = r.Addr(), sesame
	require.Contains(t, output("status"), `"clients"`)
	require.Equal(t, "resumed 10", output("reattach", "slow"))
	token = sesame + "!"
	refused, err := python("status").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(refused), "does not have the token")
}
