// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/scenario"
)

// formatText is the reference of the scenario format but for the tables that
// the packages themselves know best.
//
//go:embed simformat.txt
var formatText string

// writeFormat prints the reference of the scenario format.
func writeFormat(w io.Writer) error {
	var b strings.Builder
	b.WriteString(formatText)
	b.WriteString("\nACTIONS (do: …; fields in brackets may be left out)\n\n")
	for _, a := range scenario.Actions() {
		fields := strings.Join(a.Needs, ", ")
		if len(a.Takes) > 0 {
			fields = strings.TrimSpace(fields + " [" + strings.Join(a.Takes, ", ") + "]")
		}
		fmt.Fprintf(&b, "  %-17s %s\n%20s%s\n", a.Name, fields, "", a.About)
	}
	b.WriteString("\nMETRICS (for assert and sometimes)\n\n")
	for _, m := range check.Metrics() {
		fmt.Fprintf(&b, "  %-26s %s\n%29s%s\n", m.Name, m.Unit, "", m.Meaning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
