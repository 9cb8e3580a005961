// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func (a App) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the relay: its peers, links, clusters, queues, and drops",
		Example: `  arke status
  arke status --json | jq '.links[].peer'`,
		Args: positional(0, 0, ""),
	}
	attachment := a.attachFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.runStatus(cmd.Context(), attachment, asJSON)
	}
	return cmd
}

func (a App) runStatus(ctx context.Context, at *attachment, asJSON bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.Stdout, json.RawMessage(raw))
	}
	_, err = fmt.Fprintln(a.Stdout, string(raw))
	return err
}
