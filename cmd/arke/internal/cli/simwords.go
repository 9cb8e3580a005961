// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"

	"github.com/arke-mesh/arke/sim/scenario"
)

// explainScenario tells an expanded scenario in words if it can, else as data.
func explainScenario(w io.Writer, s scenario.Scenario) error {
	if teller, ok := any(s).(interface{ Explain(w io.Writer) error }); ok {
		return teller.Explain(w)
	}
	return printExpanded(w, s)
}
