// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/demo"
)

func (a App) demo() *cobra.Command {
	cfg := demo.Config{Executable: a.Executable, Progress: a.Stderr}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a network at work while one of its relays is killed",
		Long: `Watch a network at work while one of its relays is killed.

Three relays, three members that answer questions about the time-zone
database, and a caller that checks every reply, all on this machine. Halfway
one relay is killed; later it comes back. Takes less than a minute. Exit
status 0 only if no reply was wrong and none was lost.`,
		Example: `  arke demo
  arke demo --json 2>/dev/null`,
		Args: positional(0, 0),
	}
	f := cmd.Flags()
	f.IntVar(&cfg.Requests, "requests", 0, "requests to send at least (default 300000)")
	f.IntVar(&cfg.Concurrency, "concurrency", 0, "requests under way (default 32)")
	f.BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		report, err := demo.Run(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		if asJSON {
			err = writeJSON(a.Stdout, report)
		} else {
			err = report.Write(a.Stdout)
		}
		if err != nil {
			return err
		}
		return report.Err()
	}
	cmd.AddCommand(a.demoMember())
	return cmd
}

// demoMember is what the demo's member processes run.
func (a App) demoMember() *cobra.Command {
	var name, socket string
	cmd := &cobra.Command{
		Use:    "member",
		Short:  "Be one member of the demo",
		Hidden: true,
		Args:   positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logger("warn")
			if err != nil {
				return err
			}
			return demo.ServeMember(cmd.Context(), name, a.Env.socket(socket), a.Stdout, log)
		},
	}
	cmd.Flags().StringVar(&name, "name", "zones", "what the member calls itself in its replies")
	cmd.Flags().StringVar(&socket, "socket", "", "the relay's socket")
	return cmd
}
