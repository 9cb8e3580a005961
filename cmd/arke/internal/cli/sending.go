// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// sendFlags are what the user asked for of anything that sends messages.
type sendFlags struct {
	relay   *attachment
	timeout time.Duration
	headers []string
	asJSON  bool // the command that has --json declares it, and says what it prints
}

// declare adds the flags to cmd.
func (flags *sendFlags) declare(a App, cmd *cobra.Command) {
	flags.relay = a.attachFlags(cmd)
	f := cmd.Flags()
	f.DurationVar(&flags.timeout, "timeout", 5*time.Second, "give up after this time")
	f.StringArrayVar(&flags.headers, "header", nil, "a header of the message, `KEY=VALUE`; may be repeated")
}

func (flags *sendFlags) validate() error {
	if flags.timeout <= 0 {
		return fmt.Errorf("--timeout %s is not positive", flags.timeout)
	}
	return nil
}

// send is the part of a command that is its own: it sends m to the cluster,
// within ctx, and prints what comes of it.
type send func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error

// sending runs commands that send one message, which is the second argument if
// there is one, to the cluster that is the first. The time-out is that of the
// command: attaching is part of it.
func (a App) sending(flags *sendFlags, do send) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		m, err := a.message(cmd, args[1:], flags.headers)
		if err != nil {
			return err
		}
		return flags.relay.within(cmd.Context(), flags.timeout, func(ctx context.Context, c *client.Client) error {
			return do(ctx, c, args[0], m)
		})
	}
}
