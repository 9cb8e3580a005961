// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
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
		Args: positional(1, 2, "CLUSTER"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	flags.declare(f)
	f.BoolVar(&flags.asJSON, "json", false, "print the outcome as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkTimeout(flags.timeout); err != nil {
			return misuse(cmd, err)
		}
		message, err := a.message(cmd, args[1:], flags.headers)
		if err != nil {
			return err
		}
		return a.runPush(cmd.Context(), attachment, args[0], message, flags)
	}
	return cmd
}

func (a App) runPush(ctx context.Context, at *attachment, cluster string, m patterns.Message, flags requestFlags) error {
	ctx, cancel := context.WithTimeout(ctx, flags.timeout)
	defer cancel()
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	var how patterns.Outcome
	begin := time.Now()
	err = c.Push(ctx, cluster, m, flags.options(&how)...)
	if flags.asJSON {
		if jsonErr := writeJSON(a.Stdout, describe(nil, err, how, time.Since(begin))); jsonErr != nil {
			return jsonErr
		}
	}
	if err != nil {
		return &clusterError{cluster, err}
	}
	return nil
}
