// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/relay/client"
)

// patience bounds the questions to the relay that have no flag for it.
const patience = 5 * time.Second

func (a App) members() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "members CLUSTER",
		Short: "List who serves a cluster now",
		Long: `List who serves a cluster now, as its callers on this machine see it.

A state other than live means that callers leave the member out for a while.
Exit status: 0 there are some, 3 nobody serves it, 5 unreachable,
8 unauthorized, 1 anything else.`,
		Example: `  arke members zones
  arke members zones --json | jq -r .peer`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per member")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return attachment.within(cmd.Context(), patience, func(ctx context.Context, c *client.Client) error {
			return a.listMembers(ctx, c, args[0], asJSON)
		})
	}
	return cmd
}

// memberJSON is one member.
type memberJSON struct {
	Member      string `json:"member"`
	Peer        string `json:"peer"`
	Incarnation uint64 `json:"incarnation"`
	Zone        string `json:"zone,omitempty"`
	Capacity    int    `json:"capacity"`
	State       string `json:"state"`
}

func (a App) listMembers(ctx context.Context, c *client.Client, cluster string, asJSON bool) error {
	members, err := c.Members(ctx, cluster)
	if err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	if asJSON {
		for _, m := range members {
			o := memberJSON{m.ID, m.Peer, m.Incarnation, m.Zone, m.Capacity, m.State}
			if err := writeJSON(a.Stdout, o); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MEMBER\tSTATE\tZONE\tCAPACITY\tPEER")
	for _, m := range members {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", m.ID, m.State, dash(m.Zone), m.Capacity, m.Peer)
	}
	return t.Flush()
}
