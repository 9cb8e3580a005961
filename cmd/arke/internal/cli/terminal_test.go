// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

func TestTextOfOthersCommandsNoTerminal(t *testing.T) {
	// This test checks what becomes of each kind of character that a terminal, or
	// the eye of a reader, would take for a command.
	for from, to := range map[string]string{
		"plain, grüße, 日本, 🙂":  "plain, grüße, 日本, 🙂",
		"\x1b[2Jgone":          `\x1b[2Jgone`,
		"bell\a back\b":        `bell\x07 back\x08`,
		"a\rb":                 `a\rb`,
		"\u009b2J":             `\u009b2J`,
		"\x9b2J":               `\x9b2J`,
		"abc\u202ecba":         `abc\u202ecba`,
		"\x7f\x00":             `\x7f\x00`,
		"\uFFFD":               "\uFFFD",
		"two\nlines\tand tabs": "two\nlines\tand tabs",
	} {
		require.Equal(t, to, printable(from))
	}
	require.Equal(t, `two\nlines\tand tabs`, oneLine("two\nlines\tand tabs"))
	refusal := &patterns.RemoteError{Cluster: "geo", Code: 2, Message: "\x1b[2Jgone\nwhy\tso"}
	c := newConsole("")
	_, err := guard{&c.err, new(sync.Mutex)}.Write([]byte(explain(&clusterError{cluster: "geo", err: refusal})))
	require.NoError(t, err)
	require.Equal(t, "geo refused (code 2): \\x1b[2Jgone\nwhy\tso", c.err.String())
}

func TestTablesCannotBeForged(t *testing.T) {
	// This test checks that the names of others stay in their cell: they command
	// no terminal and begin no row.
	evil := "north\x1b]0;title\x07\nm9\tlive"
	var s relayStatus
	s.Zone = evil
	s.Links = append(s.Links, overlay.LinkStatus{Addr: evil})
	s.Relay = relay.Status{Socket: evil, Clients: []relay.ClientStatus{{Name: evil, Clusters: []string{evil}}}}
	s.Drops = map[string]uint64{evil: 1}
	var b bytes.Buffer
	t1 := newTable(&b)
	s.write(t1)
	require.NoError(t, t1.flush())
	require.NotContains(t, b.String(), "\nm9")
	for _, r := range b.String() {
		require.True(t, r == '\n' || !unicode.IsControl(r), "%q", r)
	}
}

func FuzzNothingCommandsATerminal(f *testing.F) {
	// Whatever others send: it is text, without control characters but those that
	// stay, and text without any is left alone.
	f.Add("plain")
	f.Add("\x1b[2J\u202e\x80\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s)
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.True(t, r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r), "%q", r)
		}
		require.Equal(t, got, printable(got))
	})
}
