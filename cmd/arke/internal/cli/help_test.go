// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHelpSaysHowACommandEnds(t *testing.T) {
	// This test reads the help of each command that speaks a pattern: it has an
	// example and the exit statuses, and --json where there is something to print.
	for command, printsJSON := range map[string]bool{
		"request": true, "survey": true, "push": true, "broadcast": true, "publish": true, "subscribe": true, "members": true, "status": true,
		"relay": false, "serve": false, "tunnel": false, "expose": false, "forward": false,
		"bench request": true, "bench survey": true, "bench publish": true, "bench tunnel": true,
	} {
		c := newConsole("")
		require.Zero(t, c.Run(t.Context(), append(strings.Fields(command), "--help")), command)
		help := c.out.String()
		require.Contains(t, help, "Exit status", command)
		require.Contains(t, help, "Examples:\n  arke ", command)
		require.Equal(t, printsJSON, strings.Contains(help, "\n      --json "), command)
	}
}
