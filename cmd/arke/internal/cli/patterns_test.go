// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/fake"
	"github.com/arke-mesh/arke/patterns"
)

// console is an App whose streams can be looked at.
type console struct {
	App
	out, err bytes.Buffer
}

func newConsole(stdin string) *console {
	c := &console{}
	c.App = App{Stdin: strings.NewReader(stdin), Stdout: &c.out, Stderr: &c.err, Abort: context.Background()}
	return c
}

// runs runs a command, which ends with that status.
func (c *console) runs(t *testing.T, status int, args ...string) *console {
	t.Helper()
	require.Equal(t, status, c.Run(t.Context(), args), "%s\n%s", strings.Join(args, " "), &c.err)
	return c
}

// ran runs a command, which ends with that status, and returns where it has printed.
func ran(t *testing.T, status int, args ...string) *console {
	t.Helper()
	return newConsole("").runs(t, status, args...)
}

// refused runs a command, which fails and says why.
func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	require.Contains(t, ran(t, 1, args...).err.String(), says)
}

// objects returns what was printed, a JSON object per line.
func (c *console) objects(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(c.out.String()) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o), line)
		all = append(all, o)
	}
	return all
}

func TestSurveyTellsWhoAnsweredAndWhoIsMissing(t *testing.T) {
	// This test checks the exit status, the output and the explanation of each
	// way in which a survey ends.
	reply := patterns.SurveyReply{Member: "m1", Peer: "p1", Message: patterns.Message{Body: []byte("21 degrees")}}
	refusal := patterns.SurveyReply{Member: "m2", Peer: "p2", Err: &patterns.RemoteError{Cluster: "geo", Code: 7, Message: "broken"}}
	late := patterns.Missing{Member: "m3", Peer: "p3", Err: &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}}
	lost := patterns.Missing{Member: "m4", Peer: "p4", Err: patterns.ErrInterrupted}
	for name, tc := range map[string]struct {
		answers []patterns.SurveyReply
		missing []patterns.Missing
		whole   bool
		code    int
		stdout  string
		says    string
	}{
		"all":            {[]patterns.SurveyReply{reply, reply}, nil, true, 0, "21 degrees\n21 degrees\n", ""},
		"one refuses":    {[]patterns.SurveyReply{reply, refusal}, nil, true, 0, "21 degrees\n", ""},
		"all refuse":     {[]patterns.SurveyReply{refusal}, nil, true, 2, "", "every member of geo refused (1)"},
		"one is late":    {[]patterns.SurveyReply{reply}, []patterns.Missing{late, lost}, false, 6, "21 degrees\n", "1 of 3 members of geo answered; missing: m3 of p3: deadline, m4 of shed (p4): interrupted"},
		"one is lost":    {nil, []patterns.Missing{lost}, false, 7, "", "0 of 1 members"},
		"list not whole": {[]patterns.SurveyReply{reply}, nil, false, 5, "21 degrees\n", "there may be more"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, asJSON := range []bool{false, true} {
				c := newConsole("")
				s := &survey{App: c.App, cluster: "geo", raw: true, asJSON: asJSON, begin: time.Now()}
				for _, a := range tc.answers {
					require.NoError(t, s.each(a))
				}
				err := s.end(patterns.SurveyResult{Replies: len(tc.answers), Missing: tc.missing, Complete: tc.whole}, nodeNames{"p4": "shed"})
				if tc.code == 0 {
					require.NoError(t, err)
				} else {
					require.Equal(t, tc.code, exitCode(err))
					require.Contains(t, explain(err), tc.says)
				}
				if !asJSON {
					require.Equal(t, tc.stdout, c.out.String())
					continue
				}
				objects := c.objects(t)
				require.Len(t, objects, len(tc.answers)+1)
				last := objects[len(objects)-1]
				require.Equal(t, tc.whole, last["complete"])
				require.Len(t, last["missing"], len(tc.missing))
				require.Empty(t, c.err.String())
			}
		})
	}
}

func TestManyMissingMembersAreNotAllNamed(t *testing.T) {
	// This test checks that the explanation stays one readable line.
	var missing []patterns.Missing
	for i := range 100 {
		missing = append(missing, patterns.Missing{Member: fmt.Sprint("m", i), Err: patterns.ErrOverloaded})
	}
	err := incomplete("geo", "took it", 3, missing, nil)
	require.Equal(t, 4, exitCode(err))
	require.Contains(t, err.Error(), "3 of 103 members of geo took it")
	require.Contains(t, err.Error(), "95 more")
	require.NotContains(t, err.Error(), "m7")
}

// knownNames is a relay that knows these names.
func knownNames(n map[string]string) namer {
	return func(context.Context, ...string) (map[string]string, error) { return n, nil }
}

func TestSubscriptionIsPrinted(t *testing.T) {
	// This test checks messages and gaps, for people and for programs, and that
	// nothing more is printed after the last one.
	publication := func(body string) patterns.Publication {
		return patterns.Publication{Topic: "a.b", From: "p", Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte(body)}
	}
	gap := patterns.Gap{Missed: 12, Reason: patterns.GapSlow, From: "p"}
	feed := func(p *printer) {
		p.ServePublication(publication("one"))
		p.ServeGap(gap)
		gap.Exact = true
		p.ServeGap(gap)
		p.ServePublication(publication("\xff"))
		<-p.ended
		p.ServePublication(publication("three"))
		p.ServeGap(gap)
	}
	c := newConsole("")
	feed(&printer{App: c.App, flags: subscribeFlags{count: 2, raw: true}, names: knownNames(nodeNames{"p": "attic"}), ended: make(chan struct{})})
	require.Equal(t, "one\n\xff\n", c.out.String())
	require.Equal(t, "arke: at most 12 messages of attic (p) are missing here (slow)\narke: 12 messages of attic (p) are missing here (slow)\n", c.err.String())

	c, gap.Exact = newConsole(""), false
	feed(&printer{App: c.App, flags: subscribeFlags{count: 2, asJSON: true}, names: knownNames(nodeNames{"p": "attic"}), ended: make(chan struct{})})
	require.Empty(t, c.err.String())
	require.Equal(t, strings.TrimLeft(`
{"topic":"a.b","from":"p","headers":[{"key":"k","value":"v"}],"body":"one"}
{"missed":12,"exact":false,"reason":"slow","from":"p","name":"attic"}
{"missed":12,"exact":true,"reason":"slow","from":"p","name":"attic"}
{"topic":"a.b","from":"p","headers":[{"key":"k","value":"v"}],"body_base64":"/w=="}
`, "\n"), c.out.String())
}

func TestGapsAreToldForWhatTheyAre(t *testing.T) {
	// This test checks that nobody is told a number that is not known.
	for says, g := range map[string]patterns.Gap{
		"1 message is missing here":                                  {Missed: 1, Exact: true},
		"2 messages are missing here":                                {Missed: 2, Exact: true},
		"at most 1 messages are missing here":                        {Missed: 1},
		"messages may be missing here, their number is unknown":      {},
		"1 message of p is missing here":                             {Missed: 1, Exact: true, From: "p"},
		"messages of p may be missing here, their number is unknown": {From: "p"},
	} {
		require.Equal(t, says, missingHere(g, nil))
	}
}

func TestWhatComesAfterTheLastMessageIsCounted(t *testing.T) {
	// This test checks what a member of a queue that ends by --count has taken
	// from the others.
	p := &printer{App: newConsole("").App, flags: subscribeFlags{count: 1, queue: "g"}, ended: make(chan struct{})}
	for range 4 {
		p.ServePublication(patterns.Publication{Topic: "a"})
	}
	require.Equal(t, 3, p.surplus)
}

// full is a stream that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestSubscriptionEndsWhenItCannotPrint(t *testing.T) {
	// This test checks that a full disk ends the command and is its error.
	p := &printer{App: App{Stdout: full{}}, ended: make(chan struct{})}
	p.ServePublication(patterns.Publication{Topic: "a"})
	<-p.ended
	require.ErrorContains(t, p.err, "no space")
}

func TestTunnelIsStandardInputAndOutput(t *testing.T) {
	// This test checks both directions, that the end of input ends only that
	// direction, and how each end of the member's is told.
	for name, tc := range map[string]struct {
		end  func(*fake.Tunnel) error
		code int
		says string
	}{
		"in good order": {(*fake.Tunnel).CloseSend, 0, ""},
		"reset":         {func(m *fake.Tunnel) error { return m.Reset(7, "no disk") }, 2, "reset the tunnel (code 7): no disk"},
		"lost":          {func(m *fake.Tunnel) error { m.Lose(); return nil }, 7, "link to the member of geo was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole(strings.Repeat("x", 100_000))
			printed := make(chan struct{})
			c.Stdout = writerFunc(func(b []byte) (int, error) {
				if c.out.Write(b); c.out.String() == "the answer" {
					close(printed)
				}
				return len(b), nil
			})
			caller, member := fake.Pair(1 << 16)
			ended := make(chan error, 1)
			go func() { ended <- pipe(t.Context(), c.App, caller) }()
			got := 0
			for {
				m, err := member.Receive(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				got += len(m)
			}
			require.Equal(t, 100_000, got)
			require.NoError(t, member.Send(t.Context(), []byte("the answer")))
			<-printed // as it comes
			require.NoError(t, tc.end(member))
			err := <-ended
			require.Equal(t, "the answer", c.out.String())
			if tc.code == 0 {
				require.NoError(t, err)
				return
			}
			err = &tunnelError{"geo", err}
			require.Equal(t, tc.code, exitCode(err))
			require.Contains(t, explain(err), tc.says)
		})
	}
}

// endless is an input that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestTunnelEndsWhenTheMemberWantsNoMore(t *testing.T) {
	// This test checks that a member which has answered and ended ends the
	// command in good order, though there is more input.
	for range 20 {
		c := newConsole("")
		c.Stdin = endless{}
		caller, member := fake.Pair(1 << 16)
		ended := make(chan error, 1)
		go func() { ended <- pipe(t.Context(), c.App, caller) }()
		require.NoError(t, member.Send(t.Context(), []byte("enough")))
		_, err := member.Receive(t.Context())
		require.NoError(t, err)
		require.NoError(t, member.CloseSend())
		require.NoError(t, member.Close())
		require.NoError(t, <-ended)
		require.Equal(t, "enough", c.out.String())
	}
}

func TestMemberTakesWhatItWasToldTo(t *testing.T) {
	// This test checks which patterns each choice serves, and where pushes go.
	closed := make(chan struct{})
	close(closed)
	for name, tc := range map[string]struct {
		flags            serveFlags
		messages, tunnel bool
		prints           string
	}{
		"echo":        {serveFlags{echo: true}, true, false, "hello\n"},
		"exec":        {serveFlags{command: `tr a-z A-Z; echo " by $ARKE_PATTERN"`}, true, false, "HELLO by push\n"},
		"failure":     {serveFlags{command: "echo partial; exit 3"}, true, false, ""},
		"tunnel echo": {serveFlags{tunnelEcho: true}, false, true, ""},
		"both":        {serveFlags{echo: true, tunnelCommand: "cat"}, true, true, "hello\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole("")
			require.NoError(t, tc.flags.validate())
			s := (&member{flags: tc.flags, env: []string{"PATH=" + os.Getenv("PATH")}, registered: closed, raw: true, out: &c.out, log: zap.NewNop()}).service()
			require.Equal(t, tc.messages, s.Request != nil && s.Push != nil && s.Broadcast != nil)
			require.Equal(t, tc.tunnel, s.Tunnel != nil)
			if tc.messages {
				s.Push(t.Context(), &patterns.Request{Pattern: patterns.PatternPush, Body: []byte("hello")})
			}
			require.Equal(t, tc.prints, c.out.String())
		})
	}
}

func TestEchoSendsBackMessagesOfAnySize(t *testing.T) {
	// This test checks both ways of the echo; the second one is taken where
	// a message is beyond what Receive returns.
	caller, member := fake.Pair(1 << 20)
	ended := make(chan error, 1)
	go func() { ended <- echoTunnel(t.Context(), member) }()
	require.NoError(t, caller.Send(t.Context(), []byte("small")))
	got, err := caller.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "small", string(got))
	require.NoError(t, caller.CloseSend())
	require.NoError(t, <-ended)

	caller, member = fake.Pair(1 << 20)
	go func() { ended <- echoLarge(t.Context(), member) }()
	large := bytes.Repeat([]byte("large"), 1<<19)
	require.NoError(t, caller.Send(t.Context(), large))
	got, err = caller.Receive(t.Context())
	require.NoError(t, err)
	require.True(t, bytes.Equal(large, got))
	require.NoError(t, <-ended)
}

func TestServiceToExposeIsChecked(t *testing.T) {
	// This test checks which --to is understood.
	for to, want := range map[string]string{
		"tcp://127.0.0.1:5432": "127.0.0.1:5432",
		"tcp://db.local:1":     "db.local:1",
		"tcp://[::1]:80":       "[::1]:80",
		"":                     "", "127.0.0.1:5432": "", "udp://127.0.0.1:1": "", "tcp://127.0.0.1": "",
		"tcp://:80": "", "tcp://h:1/path": "", "tcp://user@h:1": "", "tcp://h:x": "",
	} {
		got, err := exposeFlags{to: to}.target()
		require.Equal(t, want, got, to)
		require.Equal(t, want == "", err != nil, to)
	}
}

func TestTopicErrorsSayWhatToDo(t *testing.T) {
	// This test checks the line and the exit status of each.
	for _, tc := range []struct {
		err     error
		pattern bool
		code    int
		says    string
	}{
		{patterns.ErrTopic, false, 1, "without * and >"},
		{patterns.ErrTopic, true, 1, "* stands for one word"},
		{patterns.ErrTooMany, true, 14, "too many subscriptions"},
		{patterns.ErrUnreachable, false, 5, "arke status"},
		{patterns.ErrUnauthorized, false, 8, "key"},
		{patterns.ErrTooLarge, false, 9, "a topic takes 1 MiB"},
		{&patterns.DeadlineError{Cause: context.DeadlineExceeded}, false, 6, "--timeout"},
		{patterns.ErrClosed, false, 1, "shutting down"},
	} {
		err := &topicError{topic: "a.b", pattern: tc.pattern, size: 2 << 20, err: tc.err}
		require.Equal(t, tc.code, exitCode(err), tc.err)
		require.Contains(t, explain(err), tc.says)
	}
}

// press is a Messenger that can only publish.
type press struct {
	patterns.Messenger
	bodies []string
	fails  int           // at this message; 0 = never
	nodes  int           // that take each
	took   chan struct{} // has one for each; nil = nobody waits
}

func (p *press) Publish(_ context.Context, _ string, m patterns.Message, opts ...patterns.PublishOption) error {
	if p.fails > 0 && len(p.bodies)+1 == p.fails {
		return patterns.ErrUnreachable
	}
	p.bodies = append(p.bodies, string(m.Body))
	*patterns.CollectPublishOptions(opts).Confirm = p.nodes
	if p.took != nil {
		p.took <- struct{}{}
	}
	return nil
}

// messages returns what the command publishes for an argument.
func (c *console) messages(t *testing.T, arg string, count int) func() ([]byte, error) {
	t.Helper()
	s, err := c.source([]string{arg}, &sendFlags{})
	require.NoError(t, err)
	return c.each(t.Context(), s, count)
}

// newPublishing publishes what next gives, until a message takes a second.
func newPublishing(next func() ([]byte, error), rate float64) *publishing {
	return &publishing{
		topic: "a.b", next: next, begin: time.Now(),
		flags: publishFlags{sendFlags: sendFlags{timeout: time.Second}, rate: rate},
	}
}

func TestLinesOfStandardInputAreMessages(t *testing.T) {
	// This test checks what is published for each way to say it.
	for name, tc := range map[string]struct {
		arg, stdin string
		count      int
		want       []string
	}{
		"a body":          {"hello", "unread", 0, []string{"hello"}},
		"an empty body":   {"", "", 0, []string{""}},
		"so many times":   {"x", "", 3, []string{"x", "x", "x"}},
		"lines":           {"-", "one\n\nthree\r\nlast", 0, []string{"one", "", "three", "last"}},
		"so many lines":   {"-", "one\ntwo\nthree\n", 2, []string{"one", "two"}},
		"no lines at all": {"-", "", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := &press{}
			p := newPublishing(newConsole(tc.stdin).messages(t, tc.arg, tc.count), 0)
			require.NoError(t, p.run(t.Context(), m))
			require.Equal(t, tc.want, m.bodies)
			require.Equal(t, len(tc.want), p.sent)
		})
	}
}

func TestPublishingTellsHowFarItCame(t *testing.T) {
	// This test checks that a failure in the middle says how many messages went
	// before, and that a line that cannot be a message is named.
	p := newPublishing(newConsole("").messages(t, "x", 10), 0)
	err := p.run(t.Context(), &press{fails: 4})
	require.Equal(t, 5, exitCode(err))
	require.Contains(t, explain(err), "subscribers of a.b")
	require.Contains(t, explain(err), "3 messages had been sent before")

	long := "short\n" + strings.Repeat("x", maxBody+1)
	p = newPublishing(newConsole(long).messages(t, "-", 0), 0)
	err = p.run(t.Context(), &press{})
	require.ErrorContains(t, err, "line 2 of standard input is too long")
	require.Equal(t, 9, exitCode(err))
}

// silent is an input on which nothing comes.
type silent struct{}

func (silent) Read([]byte) (int, error) { select {} }

func TestSignalEndsTheWaitForStandardInput(t *testing.T) {
	// This test checks that a command which reads standard input ends by a signal
	// also while nothing comes there.
	for _, command := range []string{"request x -", "push x -", "survey x -", "broadcast x -"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		c := newConsole("")
		c.Stdin = silent{}
		require.Equal(t, 1, c.Run(ctx, strings.Fields(command)), command)
		require.Equal(t, "arke: stopped by a signal\n", c.err.String(), command)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := newConsole("")
	c.Stdin = io.MultiReader(strings.NewReader("one\ntwo\n"), silent{})
	p := newPublishing(c.each(ctx, source{stdin: true}, 0), 0)
	ended := make(chan error, 1)
	m := &press{took: make(chan struct{})}
	go func() { ended <- p.run(ctx, m) }()
	<-m.took
	<-m.took
	cancel()
	err := <-ended
	require.Equal(t, 1, exitCode(err))
	require.Equal(t, "stopped by a signal (2 messages had been sent before)", explain(err))
}

func TestRateIsAnUpperLimit(t *testing.T) {
	// This test checks that no message goes before its time, and that a signal
	// ends the wait.
	p := newPublishing(newConsole("").messages(t, "x", 11), 100)
	require.NoError(t, p.run(t.Context(), &press{}))
	require.GreaterOrEqual(t, time.Since(p.begin), 100*time.Millisecond)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p = newPublishing(newConsole("").messages(t, "x", 11), 0.001)
	require.ErrorIs(t, p.run(ctx, &press{}), context.Canceled)
}
