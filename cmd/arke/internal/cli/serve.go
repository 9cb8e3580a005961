// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/patterns"
)

// drainTime is how long accepted work may take after the first signal.
const drainTime = 30 * time.Second

// serveFlags are what the user asked for.
type serveFlags struct {
	echo     bool
	command  string
	limits   patterns.Limits
	logLevel string
}

func (a App) serve() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve CLUSTER (--echo | --exec CMD)",
		Short: "Be a member of a cluster",
		Long: `Be a member of a cluster, until a signal.

--echo replies with what was asked. --exec runs a shell command for each
request: the body is its standard input, its standard output is the reply; a
status other than zero is a remote error with its standard error as message.

Prints "arke serve ready" when the registration is acknowledged. If the relay
restarts, the member registers again by itself. SIGTERM or Ctrl-C drains: no
new requests, those accepted are finished; a second signal ends at once.`,
		Example: `  arke serve echo --echo
  arke serve count --exec 'wc -c' --concurrency 4`,
		Args: positional(1, 1, "CLUSTER"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.echo, "echo", false, "reply with the request's own headers and body")
	f.StringVar(&flags.command, "exec", "", "run this shell `CMD` for each request")
	f.IntVar(&flags.limits.Concurrency, "concurrency", 0, "requests handled at once (default 64)")
	f.IntVar(&flags.limits.QueueLength, "queue", 0, "requests waiting at most; -1 = none (default 1024)")
	f.IntVar(&flags.limits.Capacity, "capacity", 0, "weight of this member in balancing (default 1)")
	f.StringVar(&flags.logLevel, "log-level", "warn", logLevelHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		return a.runServe(cmd, attachment, args[0], flags)
	}
	return cmd
}

func (f serveFlags) validate() error {
	switch {
	case f.echo == (f.command != ""):
		return errors.New("say what to serve: either --echo or --exec CMD")
	case f.limits.Concurrency < 0:
		return errors.New("--concurrency must be at least 1")
	case f.limits.Capacity < 0:
		return errors.New("--capacity must be at least 1")
	}
	return nil
}

func (f serveFlags) handler() patterns.Handler {
	if f.echo {
		return patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
		})
	}
	return execute.Handler{Command: f.command}
}

func (a App) runServe(cmd *cobra.Command, at *attachment, cluster string, flags serveFlags) error {
	ctx := cmd.Context()
	log, err := a.logger(flags.logLevel)
	if err != nil {
		return misuse(cmd, err)
	}
	c, err := at.attach(ctx, log)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Serve(ctx, cluster, flags.handler(), flags.limits); err != nil {
		return &clusterError{cluster, err}
	}
	fmt.Fprintln(a.Stdout, "arke serve ready")

	<-ctx.Done()
	drain, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	if err := c.Shutdown(drain); err != nil {
		return fmt.Errorf("some accepted requests of %s were not finished: %w", cluster, err)
	}
	return nil
}
