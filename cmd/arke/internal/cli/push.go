// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func (a App) push() *cobra.Command {
	var flags requestFlags
	cmd := &cobra.Command{
		Use:   "push CLUSTER [BODY | -]",
		Short: "Hand a message to one member of a cluster, without a reply",
		Long: `Hand a message to one member of a cluster, without a reply. It ends when the
message is in that member's queue; the member's work comes later.

BODY is the message; - reads it from standard input; without it the message
is empty. Exit status: 0 accepted, 2 the member takes no pushes, 3 no member,
4 overloaded, 5 unreachable, 6 deadline, 7 interrupted (it may have been
accepted), 8 unauthorized, 9 too large, 1 anything else.`,
		Example: `  arke push thumbnails photo-17.jpg
  arke push orders - --wait --timeout 1m <order.json`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the outcome as one JSON object")
	cmd.RunE = a.sending(&flags.sendFlags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		var how patterns.RequestReport
		begin := time.Now()
		err := c.Push(ctx, cluster, m, flags.options(&how)...)
		took := time.Since(begin)
		if err != nil {
			err = &clusterError{cluster: cluster, err: err, one: true}
		}
		if flags.asJSON {
			return a.tellOutcome(nil, err, how, took)
		}
		return err
	})
	return cmd
}
