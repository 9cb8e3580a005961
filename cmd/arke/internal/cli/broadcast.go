// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func (a App) broadcast() *cobra.Command {
	var flags sendFlags
	cmd := &cobra.Command{
		Use:   "broadcast CLUSTER [BODY | -]",
		Short: "Hand a message to every member of a cluster, without replies",
		Long: `Hand a message to every member of a cluster, at most once each, and say how
many took it. It ends when the message is in their queues; their work comes
later.

Exit status 0 if everybody took it, 3 if nobody serves the cluster, else that
of the first missing member: 2 it takes no broadcasts, 4 overloaded,
5 unreachable, 6 late, 7 interrupted, 8 unauthorized, 9 too large, 1 anything
else.`,
		Example: `  arke broadcast caches 'drop user-17'
  arke broadcast config - --json <config.json`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the result as one JSON object")
	cmd.RunE = a.sending(&flags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		begin := time.Now()
		result, err := c.Broadcast(ctx, cluster, m)
		if err != nil {
			return &clusterError{cluster: cluster, err: err}
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return a.tellBroadcast(cluster, result, flags.asJSON, time.Since(begin))
	})
	return cmd
}

// tellBroadcast prints who took it, and returns an error unless all did.
func (a App) tellBroadcast(cluster string, result patterns.BroadcastResult, asJSON bool, took time.Duration) error {
	var err error
	if asJSON {
		err = writeJSON(a.Stdout, struct {
			Complete bool          `json:"complete"`
			Members  int           `json:"members"`
			Nodes    int           `json:"nodes"`
			Missing  []missingJSON `json:"missing"`
			Micros   int64         `json:"us"`
		}{result.Complete, result.Members, result.Nodes, describeMissing(result.Missing), took.Microseconds()})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "taken by %s on %s\n", plural(result.Members, "member"), plural(result.Nodes, "node"))
	}
	if err == nil && !result.Complete {
		err = told(incomplete(cluster, "took it", result.Members, result.Missing))
	}
	return err
}
