// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func (a App) benchTunnel() *cobra.Command {
	var flags benchFlags
	var tunnels int
	cmd := &cobra.Command{
		Use:   "tunnel CLUSTER",
		Short: "Send messages through tunnels at a fixed rate and report their echoes",
		Long: `Send messages through tunnels at a fixed rate and report their echoes, as
bench request does. The members must send back each message: arke serve with
--tunnel-echo. Tunnels take turns, message by message. A latency is that of
the echo, from the moment the message was meant to be sent. Exit status 0 if
there was any echo, else that of the commonest outcome.`,
		Example: `  arke serve echo --tunnel-echo &
  arke bench tunnel echo --rate 5000 --duration 10s --size 1024 --tunnels 8`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	flags.declare(cmd.Flags(), "message")
	cmd.Flags().IntVar(&tunnels, "tunnels", 1, "tunnels to open")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := flags.validate()
		if err == nil && tunnels < 1 {
			err = errors.New("--tunnels must be at least 1")
		}
		if err != nil {
			return misuse(cmd, err)
		}
		return a.runBenchTunnel(cmd.Context(), attachment, args[0], tunnels, flags)
	}
	return cmd
}

func (a App) runBenchTunnel(ctx context.Context, at *attachment, cluster string, tunnels int, flags benchFlags) error {
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	opened, err := openAll(ctx, c, cluster, tunnels, flags.timeout)
	lines := bench.NewLines(opened)
	defer lines.Close()
	if err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	body := flags.body()
	result, err := a.measure(ctx, flags, func(ctx context.Context, n int, _ time.Time) (string, error) {
		return lines.Do(ctx, n, body)
	})
	if err != nil {
		return err
	}
	return a.tell(flags, result, fmt.Sprintf("%s sent nothing back: serve it with 'arke serve %s --tunnel-echo'", cluster, cluster))
}

// openAll opens the tunnels, each within the time-out, and returns those that
// are open also where one failed.
func openAll(ctx context.Context, c *client.Client, cluster string, count int, timeout time.Duration) ([]patterns.Tunnel, error) {
	var opened []patterns.Tunnel
	for range count {
		opening, cancel := context.WithTimeout(ctx, timeout)
		t, err := c.OpenTunnel(opening, cluster, patterns.Message{})
		cancel()
		if err != nil {
			return opened, err
		}
		opened = append(opened, t)
	}
	return opened, nil
}
