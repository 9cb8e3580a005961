// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/scenarios"
)

func (s sims) explain() *cobra.Command {
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain FILE",
		Short: "Tell a scenario in words and as a timeline",
		Long: `Tell a scenario in words and as a timeline.

FILE is a scenario file or the name of a scenario that comes with the program.
It is expanded for its seed first, so every node and every action is named.
--json prints the expanded scenario, which is a scenario file itself.`,
		Example: `  arke sim explain churn
  arke sim explain my.yaml --seed 7 --json >expanded.json`,
		Args: positional(1, 1, "FILE"),
	}
	f := cmd.Flags()
	f.Uint64Var(&seed, "seed", 0, "expand for this seed instead of the file's")
	f.BoolVar(&asJSON, "json", false, "print the expanded scenario")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		sc, err := readScenario(args[0])
		if err != nil {
			return err
		}
		if seed != 0 {
			sc.Seed = seed
		}
		expanded, err := sc.Expand()
		if err != nil {
			return badFile("%v", err)
		}
		if asJSON {
			return printExpanded(s.Stdout, expanded)
		}
		return expanded.Explain(s.Stdout)
	}
	return cmd
}

func (s sims) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Name the scenarios that come with the program",
		Example: "  arke sim list",
		Args:    positional(0, 0),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per scenario")
	cmd.RunE = func(*cobra.Command, []string) error {
		for _, name := range scenarios.Names() {
			sc, err := readScenario(name)
			if err != nil {
				return err
			}
			levels := sc.Levels
			if len(levels) == 0 {
				levels = scenario.Levels()
			}
			about := strings.Join(strings.Fields(sc.About), " ")
			if asJSON {
				err = writeJSON(s.Stdout, map[string]any{"name": name, "about": about, "levels": levels})
			} else {
				_, err = fmt.Fprintf(s.Stdout, "%-20s %-16s %s\n", name, strings.Join(levels, " "), about)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func (s sims) format() *cobra.Command {
	return &cobra.Command{
		Use:     "format",
		Short:   "Explain the format of scenario files",
		Example: "  arke sim format | less",
		Args:    positional(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return scenario.WriteReference(s.Stdout)
		},
	}
}
