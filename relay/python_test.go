// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// python runs the program that was written from the page in doc.go.
type python struct {
	t         *testing.T
	at, token string // of the relay
}

func newPython(t *testing.T) *python {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	return &python{t: t}
}

func (p *python) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "python3", append([]string{"../tests/attach.py", p.at}, args...)...)
	cmd.Env = append(os.Environ(), "ARKE_TOKEN="+p.token)
	return cmd
}

// output is what one says that runs to its end.
func (p *python) output(args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.Stdin = strings.NewReader("ping\n") // for "call"
	out, err := cmd.CombinedOutput()
	require.NoError(p.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// program is one that goes on while the test does.
type program struct {
	t    *testing.T
	says *bufio.Reader
	in   io.WriteCloser
	wait func() error // until it has ended, when all was read
}

func (p *python) start(args ...string) *program {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.Stderr = p.t.Output()
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	in, err := cmd.StdinPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	return &program{t: p.t, says: bufio.NewReader(out), in: in, wait: cmd.Wait}
}

// reads gives it a line.
func (p *program) reads(line string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, line)
	require.NoError(p.t, err)
}

// writes expects a line that begins like this.
func (p *program) writes(begin string) {
	p.t.Helper()
	line, err := p.says.ReadString('\n')
	require.NoError(p.t, err, "instead of %q", begin)
	require.True(p.t, strings.HasPrefix(line, begin), "%q instead of %q", line, begin)
}

// TestThePageSuffices has a program in Python, which was written from the page in
// doc.go, serve, call, subscribe, publish, and come back to its session, also over
// TCP with a token.
func TestThePageSuffices(t *testing.T) {
	p := newPython(t)
	n := lone(t)
	require.NoError(t, n.Start(t.Context()))
	r, cfg := startOn(t, n, guard)
	p.at = cfg.Socket

	server := p.start("serve", "geo", "2")
	server.writes("member ")
	require.Equal(t, "python: ping", p.output("call", "geo"))
	reply, err := n.Request(t.Context(), "geo", patterns.Message{Body: []byte(strings.Repeat("x", 200_000))})
	require.NoError(t, err)
	require.Equal(t, "python: "+strings.Repeat("x", 1000), string(reply.Body))
	require.NoError(t, server.wait())

	reader := p.start("subscribe", "news.>", "2")
	reader.writes("subscribed")
	require.Equal(t, "nodes 1", p.output("publish", "news.today", "from python"))
	require.NoError(t, n.Publish(t.Context(), "news.now", patterns.Message{Body: []byte("from Go")}))
	text, err := io.ReadAll(reader.says)
	require.NoError(t, err)
	require.Equal(t, "news.today from python\nnews.now from Go\n", string(text))
	require.NoError(t, reader.wait())

	calls := 0
	_, err = n.Serve(t.Context(), "slow", patterns.HandlerFunc(func(_ context.Context, q *patterns.Request) (patterns.Message, error) {
		calls++
		time.Sleep(50 * time.Millisecond)
		return patterns.Message{Body: q.Body}, nil
	}), patterns.Limits{})
	require.NoError(t, err)
	require.Equal(t, "resumed 10", p.output("reattach", "slow"))
	require.Equal(t, 10, calls, "none was lost, or done twice")
	require.Contains(t, p.output("call", "$status"), `"clients"`)
	require.Empty(t, r.Status().Drops)

	p.at, p.token = r.Addr(), sesame
	require.Contains(t, p.output("call", "$status"), `"clients"`)
	require.Equal(t, "resumed 10", p.output("reattach", "slow"))
	p.token = sesame + "!"
	refused, err := p.command("call", "$status").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(refused), "does not have the token")
}

// TestThePageSufficesToOutliveARelay proves that programs in Python outlive relays that
// are killed or drained: they serve and subscribe again and tell of a gap, make again
// the calls that nobody has looked at, and no others.
func TestThePageSufficesToOutliveARelay(t *testing.T) {
	p := newPython(t)
	n := lone(t)
	require.NoError(t, n.Start(t.Context()))
	r, cfg := startOn(t, n, nil)
	p.at = cfg.Socket

	server, reader, caller := p.start("serve", "geo", "3"), p.start("subscribe", "news.>", "4"), p.start("call", "geo")
	server.writes("member ")
	reader.writes("subscribed")
	caller.reads("hi")
	caller.writes("python: hi")
	replace := func(end func(*relay.Relay) error) {
		require.NoError(t, end(r))
		caller.reads("who is there?")
		time.Sleep(100 * time.Millisecond) // attempts fail, for nobody listens
		r, _ = startOn(t, n, func(c *relay.Config) { c.Socket = cfg.Socket })
		caller.writes("python: who is there?")
		reader.writes("gap of unknown size")
		eventually(t, func() bool { return p.output("publish", "news.today", "again") == "nodes 1" }, "nobody subscribes again")
		reader.writes("news.today again")
	}

	handling := serveUntilGone(t, n, "held")
	held := p.start("call", "held")
	held.reads("this may not be done twice")
	<-handling
	replace((*relay.Relay).Close)
	held.writes("failed: outcome 11")
	require.Empty(t, handling, "it was asked once")

	early := p.start("call", "later")
	early.reads("first")
	eventually(t, func() bool { return calling(r) }, "the call does not come")
	replace(func(r *relay.Relay) error {
		err := r.Shutdown(t.Context())
		_, served := n.Serve(t.Context(), "later", patterns.HandlerFunc(echo), patterns.Limits{})
		return errors.Join(err, served)
	})
	early.writes("first")

	for _, one := range []*program{server, reader, caller, held, early} {
		one.in.Close()
		require.NoError(t, one.wait())
	}
}

// serveUntilGone serves requests until their callers are gone, and tells of each.
func serveUntilGone(t *testing.T, n *node.Node, cluster string) <-chan struct{} {
	t.Helper()
	handling := make(chan struct{}, 10)
	_, err := n.Serve(t.Context(), cluster, patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		handling <- struct{}{}
		<-ctx.Done()
		return patterns.Message{}, ctx.Err()
	}), patterns.Limits{})
	require.NoError(t, err)
	return handling
}

// calling says whether a call waits at the relay.
func calling(r *relay.Relay) bool {
	for _, c := range r.Status().Clients {
		if c.Requests > 0 {
			return true
		}
	}
	return false
}
