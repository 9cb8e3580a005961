// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/meaning"
	"github.com/arke-mesh/arke/internal/nearest"
)

// explainNumber says what a counter, a field of the status, or a metric means.
func explainNumber(a App, cmd *cobra.Command, name string) error {
	found := meaning.Find(name)
	if len(found) == 0 {
		return misuse(cmd, fmt.Errorf("--explain: nothing is called %q%s", name, nearest.Hint(name, meaning.Names(), "%s")))
	}
	for _, e := range found {
		switch {
		case e.Name == "":
			fmt.Fprintf(a.Stdout, "%s: %s\n", e.Metric, e.Means)
		case e.Metric == "":
			fmt.Fprintf(a.Stdout, "%s: %s\n", e.Name, e.Means)
		default:
			fmt.Fprintf(a.Stdout, "%s (in /metrics: %s): %s\n", e.Name, e.Metric, e.Means)
		}
	}
	return nil
}
