// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package execute_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/patterns"
)

func TestCommandsGetNoSecrets(t *testing.T) {
	// This test checks which variables reach a command: those of a short list,
	// and those that the user names. The key and the token are never among them.
	environ := []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_ALL=C.UTF-8", "TZ=UTC", "ARKE_SOCKET=/s", "ARKE_NETWORK=arke-network", "ARKE_TOKEN=open sesame",
		"AWS_SECRET_ACCESS_KEY=x", "DB=postgres", "PATHOLOGY=1",
	}
	env, err := execute.Environment(environ, []string{"DB", "MODE=fast", "EMPTY="})
	require.NoError(t, err)
	require.Equal(t, []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_ALL=C.UTF-8", "TZ=UTC", "ARKE_SOCKET=/s", "DB=postgres", "MODE=fast", "EMPTY=",
	}, env)
	for extra, says := range map[string]string{
		"ARKE_NETWORK": "never", "ARKE_TOKEN=x": "never", "NONE": "not set", "": "NAME=VALUE", "=x": "NAME=VALUE",
	} {
		_, err := execute.Environment(environ, []string{extra})
		require.ErrorContains(t, err, says, extra)
	}
}

func TestCommandsSeeOnlyWhatTheyAreGiven(t *testing.T) {
	// This test checks the whole environment of a command, with what it is told
	// of the request: headers can set nothing else, whatever their names.
	t.Setenv("ARKE_NETWORK", "the key")
	reply, err := execute.Handler{
		Command: "env", Env: []string{"PATH=/usr/bin:/bin"}, Member: func() string { return "0123456789abcdef" },
	}.ServeRequest(t.Context(), &patterns.Request{
		From: "12D3Koo", Pattern: patterns.PatternSurvey,
		Headers: patterns.Headers{
			{Key: "content-type", Value: "text/plain; a=b"},
			{Key: "Content.Type", Value: "second"},
			{Key: "PATH", Value: "/evil"},
			{Key: "zero", Value: "a\x00b"},
			{Key: "é=x\n", Value: "1"},
		},
	})
	require.NoError(t, err)
	var got []string
	for line := range strings.Lines(string(reply.Body)) {
		if name, _, _ := strings.Cut(line, "="); name != "_" && name != "PWD" && name != "SHLVL" && name != "OLDPWD" { // the shell's own
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	require.ElementsMatch(t, []string{
		"PATH=/usr/bin:/bin", "ARKE_PATTERN=survey", "ARKE_MEMBER=0123456789abcdef", "ARKE_CALLER=12D3Koo",
		"ARKE_HEADER_CONTENT_TYPE=text/plain; a=b", "ARKE_HEADER_PATH=/evil", "ARKE_HEADER___X_=1",
	}, got)
}

func TestCommandsKnowHowLongTheyMayTake(t *testing.T) {
	// This test checks the deadline, in milliseconds that are left.
	h := execute.Handler{Command: "echo $ARKE_DEADLINE_MS"}
	reply, err := h.ServeRequest(t.Context(), &patterns.Request{Deadline: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Regexp(t, "^35[0-9]{5}\n$", string(reply.Body))
	reply, err = h.ServeRequest(t.Context(), &patterns.Request{})
	require.NoError(t, err)
	require.Equal(t, "\n", string(reply.Body))
}
