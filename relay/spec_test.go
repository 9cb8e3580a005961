// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// This test checks that the specification lists every frame, outcome and
// reason under its number, and that its constants are the code's.
func TestTheSpecificationIsComplete(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	spec := regexp.MustCompile(`\n//[ \t]*`).ReplaceAllString(string(source), "\n")

	kinds := 0
	for k := range session.FirstSkippable {
		if k.String() == "unknown" {
			continue
		}
		kinds++
		name := ""
		for part := range strings.SplitSeq(k.String(), "_") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
		require.Regexp(t, fmt.Sprintf(`\n%d +%s\b`, k, name), spec)
	}
	require.Len(t, regexp.MustCompile(`\n\d+ +[A-Z]\w+ `).FindAllString(spec, -1), kinds, "a frame that is none")

	for o := session.Outcome(0); o.String() != "unknown"; o++ {
		require.Regexp(t, fmt.Sprintf(`\n%d %s +[a-z]`, o, strings.ReplaceAll(o.String(), "_", " ")), spec)
	}
	for r := session.ReasonMalformed; r <= session.ReasonUnexpected; r++ {
		require.Regexp(t, fmt.Sprintf(`[ \n]%d [a-z]`, r), spec)
	}
	for _, text := range []string{
		fmt.Sprintf("%q", session.Magic), "this is version 1.", "at most 16,384 bytes", "at most 4,096 bytes long",
		"token (at most 1,024 bytes)", "client (at most 255)", "cluster (at most 255)",
	} {
		require.Contains(t, spec, text)
	}
	require.Equal(t, []int{16384, 4096, 1024, 255, 255, 1, 1}, []int{
		session.MaxHeaders, session.MaxHandshake, session.MaxToken, session.MaxName, session.MaxCluster,
		int(session.MinVersion), int(session.MaxVersion),
	})
}
