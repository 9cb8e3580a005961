// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func (a App) tunnel() *cobra.Command {
	var flags requestFlags
	cmd := &cobra.Command{
		Use:   "tunnel CLUSTER",
		Short: "Connect standard input and output with one member",
		Long: `Connect standard input and output with one member of a cluster: what comes on
standard input goes to the member, what the member sends goes to standard
output, unchanged and as it comes. The end of standard input ends that
direction only; the command ends when the member has ended, too.

Exit status: 0 both have ended in good order, 2 the member reset the tunnel,
3 no member, 4 overloaded, 5 unreachable, 6 deadline of the opening, 7 the
link to the member was lost, 8 unauthorized, 9 too large, 14 too many
tunnels, 1 anything else.`,
		Example: `  arke serve sort --tunnel-exec sort &
  arke tunnel sort <words.txt >sorted.txt`,
		Args: calling(1),
	}
	flags.declare(a, cmd)
	cmd.Flags().Lookup("timeout").Usage = "give up when no tunnel is open after this time"
	cmd.Flags().Lookup("header").Usage = "a header of the opening, `KEY=VALUE`; may be repeated"
	cmd.RunE = a.sending(&flags.sendFlags, func(opening context.Context, c *client.Client, cluster string, first patterns.Message) error {
		t, err := c.OpenTunnel(opening, cluster, first, flags.options(&patterns.RequestReport{})...)
		if err != nil {
			return &clusterError{cluster: cluster, err: err, one: true}
		}
		if err := a.pipe(cmd.Context(), t); err != nil {
			_ = t.Reset(patterns.CodeUnknown, "the caller has gone")
			return &tunnelError{cluster, err}
		}
		return nil
	})
	return cmd
}

// pipe connects standard input and output with the tunnel until both
// directions have ended.
func (a App) pipe(ctx context.Context, t patterns.Tunnel) error {
	// Reading a terminal cannot be interrupted: this goroutine may outlive us
	// until the process ends, which is next.
	sent := make(chan error, 1)
	go func() { sent <- sendAll(ctx, t, a.Stdin) }()

	w := &broken{w: a.Stdout}
	for {
		_, err := t.ReceiveTo(ctx, w)
		switch {
		case err == nil:
			continue
		case w.err != nil:
			return w.err
		case !errors.Is(err, io.EOF):
			return err
		}
		break
	}
	select {
	case err := <-sent:
		if !errors.Is(err, patterns.ErrClosed) {
			return err
		}
		// The member takes nothing more; Err says whether that is in order.
	case <-t.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-t.Done():
		return t.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pieceBytes is how much of standard input becomes one message at most.
const pieceBytes = 32 << 10

// sendAll sends what r has, as it comes, and ends that direction.
func sendAll(ctx context.Context, t patterns.Tunnel, r io.Reader) error {
	buf := make([]byte, pieceBytes)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := t.Send(ctx, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return t.CloseSend()
		case err != nil:
			return err
		}
	}
}

// broken remembers why writing failed.
type broken struct {
	w   io.Writer
	err error
}

func (b *broken) Write(p []byte) (int, error) {
	n, err := b.w.Write(p)
	if err != nil {
		b.err = err
	}
	return n, err
}
