// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateFaults = flag.Bool("update-faults", false, "write docs/faults.md anew from the table of the drill")

// TestThePageOfFaultsIsAsTheDrill checks that docs/faults.md says what the drill holds.
// Write it anew with
//
//	go test ./tests -run ThePageOfFaults -update-faults
func TestThePageOfFaultsIsAsTheDrill(t *testing.T) {
	const file = "../docs/faults.md"
	if *updateFaults {
		write(t, file, faultsPage())
	}
	require.Equal(t, faultsPage(), read(t, file), "write it anew: go test ./tests -run ThePageOfFaults -update-faults")
}

const faultsHead = `# When something is wrong

Begin with ` + "`arke doctor`" + ` and the flags of the relay: it looks at everything that it can, says what
is wrong, and what to do. ` + "`arke status --explain NAME`" + ` says what a number means. The rest is
in the log: its lines are for people, and one is enough for one fault.

Below is what a fault looks like, from each side. This page is made from a test
(` + "`TestEachFaultIsSaid`" + ` in ` + "`tests`" + `), which plays all of it with real relays on machines of their
own; "…" stands for anything, and "within" is counted from the fault on. Relays are called
a, b and c. Fields are those of ` + "`arke status --json`" + `.
`

// faultsPage returns the table of faults as a page of Markdown.
func faultsPage() string {
	var b strings.Builder
	b.WriteString(faultsHead)
	for _, f := range drillFaults() {
		fmt.Fprintf(&b, "\n## %s%s\n\n%s\n", strings.ToUpper(f.name[:1]), f.name[1:], f.story)
		writeSigns(&b, f.signs)
		fmt.Fprintf(&b, "\n**To do:** %s\n", f.todo)
		if len(f.after) > 0 {
			b.WriteString("\nAfterwards:\n")
			writeSigns(&b, f.after)
		}
	}
	return b.String()
}

func writeSigns(b *strings.Builder, signs []sign) {
	b.WriteString("\n| relay | where | says | within |\n|---|---|---|---|\n")
	for _, g := range signs {
		fmt.Fprintf(b, "| %s | %s | `%s` | %v |\n", g.at, g.on, strings.ReplaceAll(g.says, "|", `\|`), g.within)
	}
}
