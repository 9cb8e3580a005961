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
)

func (a App) broadcast() *cobra.Command {
	var flags manyFlags
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
		Args: positional(1, 2, "CLUSTER"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	declareMessage(f, &flags.timeout, &flags.headers)
	f.BoolVar(&flags.asJSON, "json", false, "print the result as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkTimeout(flags.timeout); err != nil {
			return misuse(cmd, err)
		}
		message, err := a.message(cmd, args[1:], flags.headers)
		if err != nil {
			return err
		}
		return a.runBroadcast(cmd.Context(), attachment, args[0], message, flags)
	}
	return cmd
}

func (a App) runBroadcast(ctx context.Context, at *attachment, cluster string, m patterns.Message, flags manyFlags) error {
	ctx, cancel := context.WithTimeout(ctx, flags.timeout)
	defer cancel()
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	begin := time.Now()
	result, err := c.Broadcast(ctx, cluster, m)
	if err != nil {
		return &clusterError{cluster, err}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if flags.asJSON {
		err = writeJSON(a.Stdout, struct {
			Complete bool          `json:"complete"`
			Members  int           `json:"members"`
			Nodes    int           `json:"nodes"`
			Missing  []missingJSON `json:"missing"`
			Micros   int64         `json:"us"`
		}{result.Complete, result.Members, result.Nodes, describeMissing(result.Missing), time.Since(begin).Microseconds()})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "taken by %s on %s\n", plural(result.Members, "member"), plural(result.Nodes, "node"))
	}
	if err == nil && !result.Complete {
		err = incomplete(cluster, "took it", result.Members, result.Missing)
	}
	return err
}
