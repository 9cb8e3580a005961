// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// press is a Messenger that can only publish.
type press struct {
	patterns.Messenger
	bodies []string
	fails  int           // at this message; 0 = never
	took   chan struct{} // has one for each; nil = nobody waits
}

func (p *press) Publish(_ context.Context, _ string, m patterns.Message, _ ...patterns.PublishOption) error {
	if p.fails > 0 && len(p.bodies)+1 == p.fails {
		return patterns.ErrUnreachable
	}
	p.bodies = append(p.bodies, string(m.Body))
	if p.took != nil {
		p.took <- struct{}{}
	}
	return nil
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
			p := newPublishing(newConsole(tc.stdin).bodies(t.Context(), tc.arg, tc.count), 0)
			require.NoError(t, p.run(t.Context(), m))
			require.Equal(t, tc.want, m.bodies)
			require.Equal(t, len(tc.want), p.sent)
		})
	}
}

func TestPublishingTellsHowFarItCame(t *testing.T) {
	// This test checks that a failure in the middle says how many messages went
	// before, and that a line that cannot be a message is named.
	p := newPublishing(newConsole("").bodies(t.Context(), "x", 10), 0)
	err := p.run(t.Context(), &press{fails: 4})
	require.Equal(t, 5, exitCode(err))
	require.Contains(t, explain(err), "subscribers of a.b")
	require.Contains(t, explain(err), "3 messages had been sent before")

	long := "short\n" + strings.Repeat("x", maxStdin+1)
	p = newPublishing(newConsole(long).bodies(t.Context(), "-", 0), 0)
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
	p := newPublishing(c.bodies(ctx, "-", 0), 0)
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
	p := newPublishing(newConsole("").bodies(t.Context(), "x", 11), 100)
	require.NoError(t, p.run(t.Context(), &press{}))
	require.GreaterOrEqual(t, time.Since(p.begin), 100*time.Millisecond)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p = newPublishing(newConsole("").bodies(t.Context(), "x", 11), 0.001)
	require.ErrorIs(t, p.run(ctx, &press{}), context.Canceled)
}
