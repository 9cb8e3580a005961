// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

func TestBodyComesFromWhereTheUserSays(t *testing.T) {
	// This test checks what is sent for each way to say it. What is on a pipe is
	// never left out without a word.
	file := filepath.Join(t.TempDir(), "photo.jpg")
	require.NoError(t, os.WriteFile(file, []byte("from a file\n"), 0o600))
	devNull, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer devNull.Close()
	stored, err := os.Open(file)
	require.NoError(t, err)
	defer stored.Close()
	piped := func() io.Reader { return strings.NewReader("from a pipe\n") }
	for name, tc := range map[string]struct {
		args  []string
		file  string
		stdin io.Reader
		want  string
		says  string
	}{
		"text":                    {[]string{"hello"}, "", piped(), "hello", ""},
		"empty text":              {[]string{""}, "", piped(), "", ""},
		"a number":                {[]string{"-5"}, "", piped(), "-5", ""},
		"-":                       {[]string{"-"}, "", piped(), "from a pipe\n", ""},
		"@FILE":                   {[]string{"@" + file}, "", piped(), "from a file\n", ""},
		"--file":                  {nil, file, piped(), "from a file\n", ""},
		"--file -":                {nil, "-", piped(), "from a pipe\n", ""},
		"@@":                      {[]string{"@@home"}, "", piped(), "@home", ""},
		"@ alone":                 {[]string{"@"}, "", piped(), "", "name a file after @"},
		"both":                    {[]string{"x"}, file, piped(), "", "choose one of BODY and --file"},
		"no such file":            {[]string{"@" + file + "x"}, "", piped(), "", "text that begins with @ is written @@"},
		"nothing, but a pipe":     {nil, "", piped(), "from a pipe\n", ""},
		"nothing, but a file":     {nil, "", stored, "from a file\n", ""},
		"nothing, and a device":   {nil, "", devNull, "", ""},
		"nothing, and no stdin":   {nil, "", nil, "", ""},
		"nothing, and the end":    {nil, "", strings.NewReader(""), "", ""},
		"nothing, and no end":     {nil, "", silent{}, "", "standard input did not end within 20ms"},
		"text, and no end either": {[]string{"hello"}, "", silent{}, "hello", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole("")
			c.Stdin = tc.stdin
			cmd := &cobra.Command{Use: "request"}
			cmd.SetContext(t.Context())
			m, err := c.message(cmd, tc.args, &sendFlags{file: tc.file, timeout: 20 * time.Millisecond})
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, string(m.Body))
		})
	}
}

func TestSizesAndTheWayOutAreInTooLarge(t *testing.T) {
	// This test checks that whoever sends too much reads how much it was, how
	// much may be sent, and what to do.
	large := explain(&clusterError{cluster: "geo", size: 2<<20 + 1<<19, err: patterns.ErrTooLarge})
	for _, part := range []string{"2.50 MiB", "takes 1 MiB", "--message-bytes", "16 MiB", "'arke tunnel geo'", "no handler ran"} {
		require.Contains(t, large, part)
	}
	small := explain(&clusterError{cluster: "geo", size: 2048, err: patterns.ErrTooLarge})
	for _, part := range []string{"2.0 KiB", "no handler ran", "--message-bytes", "headers", "'arke tunnel geo'"} {
		require.Contains(t, small, part)
	}
	require.NotContains(t, small, "1 MiB", "that member takes less")
	require.NotContains(t, small, "reply", "one that is too large is a remote error")
	topic := explain(&topicError{topic: "a.b", size: 3 << 20, err: patterns.ErrTooLarge})
	for _, part := range []string{"3 MiB", "takes 1 MiB", "in parts"} {
		require.Contains(t, topic, part)
	}
}

func TestPublishingToNobodyIsSaid(t *testing.T) {
	// This test checks the words for one message, for several, and for some, and
	// that --need ends at the first message that too few nodes take.
	p := newPublishing(newConsole("").messages(t, "x", 1), 0)
	require.NoError(t, p.run(t.Context(), &press{}))
	require.Equal(t, "no node acknowledged the message", p.lost())
	p = newPublishing(newConsole("").messages(t, "x", 3), 0)
	require.NoError(t, p.run(t.Context(), &press{}))
	require.Equal(t, "no node acknowledged any of the 3 messages", p.lost())
	p.unheard = 1
	require.Equal(t, "no node acknowledged 1 of 3 messages", p.lost())
	p = newPublishing(newConsole("").messages(t, "x", 3), 0)
	require.NoError(t, p.run(t.Context(), &press{nodes: 2}))
	require.Zero(t, p.unheard)

	p = newPublishing(newConsole("").messages(t, "x", 3), 0)
	p.flags.need = 2
	require.NoError(t, p.run(t.Context(), &press{nodes: 2}))
	p = newPublishing(newConsole("").messages(t, "x", 3), 0)
	p.flags.need = 2
	err := p.run(t.Context(), &press{nodes: 1})
	require.Equal(t, 3, exitCode(err))
	require.Equal(t, "1 node took message 1 of a.b, --need is 2: start subscribers, with 'arke subscribe a.b'", explain(err))
	c := newConsole("")
	require.Equal(t, 3, exitCode(tellPublished(c.App, p, err)))
	require.Equal(t, "no_members", c.objects(t)[0]["outcome"], "as the exit status says")
}

func TestSenderIsNamedOnATerminal(t *testing.T) {
	// This test checks what is printed of a subscription and of a survey where
	// people read it, that nothing commands their terminal, and that --raw leaves
	// everything as it is.
	body := []byte("21 \x1b[2Jdegrees")
	for _, tc := range []struct {
		raw                 bool
		subscribed, replied string
	}{
		{false, "weather.berlin: 21 \\x1b[2Jdegrees\n", "m1: 21 \\x1b[2Jdegrees\n"},
		{true, string(body) + "\n", string(body) + "\n"},
	} {
		c := newConsole("")
		p := &printer{App: c.App, flags: subscribeFlags{count: 1, raw: tc.raw}, ended: make(chan struct{})}
		p.ServePublication(patterns.Publication{Topic: "weather.berlin", Body: body})
		require.Equal(t, tc.subscribed, c.out.String())
		c = newConsole("")
		s := &survey{App: c.App, cluster: "geo", raw: tc.raw}
		require.NoError(t, s.each(patterns.SurveyReply{Member: "m1", Message: patterns.Message{Body: body}}))
		require.Equal(t, tc.replied, c.out.String())
	}
}

func TestASecondSignalCutsDrainingShort(t *testing.T) {
	// This test checks the context in which commands finish what they accepted.
	abort, second := context.WithCancel(t.Context())
	second()
	err := App{Abort: abort}.drain(drainTime, func(ctx context.Context) error { return ctx.Err() })
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, App{Abort: t.Context()}.drain(drainTime, func(ctx context.Context) error {
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.InDelta(t, drainTime.Seconds(), time.Until(deadline).Seconds(), 5)
		return nil
	}))
}
