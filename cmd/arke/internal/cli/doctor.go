// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/doctor"
	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func doctorCommand(a App) *cobra.Command {
	var flags relayFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [--config FILE]",
		Short: "Find out why a relay does not work, and say what to do",
		Long: `Find out why a relay does not work, and say what to do.

It takes the flags of 'arke relay', and looks at the network file, the data
directory, the limits of the system, mDNS, the socket, the ports, and at each seed:
its name, its port, and whether it admits this machine. A relay that runs at the
socket is asked how its peers, its clock and its drops are. If none runs, the doctor
joins the network itself for some seconds. It changes nothing.

` + exits("nothing stands in the way, though there may be warnings", end{patterns.OutcomeOther, "there are problems; and"}),
		Example: `  arke doctor --config /etc/arke/relay.yaml
  arke doctor --key-file home.key --seed relay-1.example:7400
  arke doctor --json | jq 'select(.grade == "problem")'`,
	}
	flags.declare(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per finding")
	settings.FlagOnly(cmd.Flags(), "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		set, err := flags.resolve(a, cmd.Flags())
		if err != nil {
			return err
		}
		if err := flags.validate(set); err != nil {
			return misuse(cmd, err)
		}
		return examine(cmd.Context(), a, flags, asJSON)
	}
	return cmd
}

func examine(ctx context.Context, a App, flags relayFlags, asJSON bool) error {
	asked := len(flags.listen) > 0
	flags.fillIn(a, zap.NewNop())
	cfg := doctor.Config{
		DataDir: flags.dataDir, Socket: flags.socket, Listen: flags.listen, AnyPort: !asked, Seeds: flags.seeds, NoMDNS: flags.noMDNS,
		Running: func(ctx context.Context) (s doctor.Running, err error) {
			t := &attachment{env: a.Env, name: "arke doctor", socket: flags.socket, observes: true}
			err = t.within(ctx, patience, func(ctx context.Context, c *client.Client) error {
				raw, err := c.Status(ctx)
				if err != nil {
					return err
				}
				return json.Unmarshal(raw, &s)
			})
			return s, err
		},
	}
	cfg.Network, cfg.NetworkErr = network(a, flags)
	if flags.keyFile == "" && a.Env.Network == "" && !flags.dev {
		cfg.NetworkErr = doctor.ErrNoNetwork
	}
	problems := doctor.Examine(ctx, cfg, func(f doctor.Finding) {
		if asJSON {
			_ = writeJSON(a.Stdout, f)
			return
		}
		fmt.Fprintf(a.Stdout, "%-8s %s: %s\n", f.Grade, printable(f.Check), printable(f.Text))
		if f.Do != "" {
			fmt.Fprintf(a.Stdout, "         to do: %s\n", printable(f.Do))
		}
	})
	if problems > 0 {
		return ended(patterns.OutcomeOther, "the doctor has found %s", plural.Of(problems, "problem"))
	}
	return nil
}
