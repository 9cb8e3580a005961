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

// drainTime is how long accepted work may take after the first signal.
const drainTime = 30 * time.Second

// serveFlags are what the user asked for.
type serveFlags struct {
	echo          bool
	command       string
	tunnelEcho    bool
	tunnelCommand string
	limits        patterns.Limits
	logLevel      string
}

func (a App) serve() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve CLUSTER (--echo | --exec CMD | --tunnel-echo | --tunnel-exec CMD)",
		Short: "Be a member of a cluster",
		Long: `Be a member of a cluster, until a signal.

--echo replies with what was asked. --exec runs a shell command for each
request: the body is its standard input, its standard output is the reply; a
status other than zero is a remote error with its standard error as message.
Surveys are answered as requests are.

Pushes and broadcasts, which have no reply, are printed to standard output,
each on lines of its own; with --exec they run the command, and what it prints
goes there instead. The command finds in ARKE_PATTERN whether it is for a
request, survey, push or broadcast.

--tunnel-echo sends back what comes through a tunnel. --tunnel-exec runs a
shell command for each tunnel: what the caller sends is its standard input,
its standard output goes to the caller as it comes; a status other than zero
resets the tunnel. Either goes with --echo or --exec, too. What was not chosen
is refused.

Prints "arke serve ready" when the registration is acknowledged. If the relay
restarts, the member registers again by itself. SIGTERM or Ctrl-C drains: no
new requests, those accepted are finished; a second signal ends at once.

Exit status: 0 all was finished after a signal, 5 no relay, 6 something was
cut off after 30 s, 8 unauthorized, 14 too many members of one
program, 1 anything else.`,
		Example: `  arke serve echo --echo --tunnel-echo
  arke serve count --exec 'wc -c' --concurrency 4
  arke serve sort --tunnel-exec sort`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.echo, "echo", false, "reply with the request's own headers and body")
	f.StringVar(&flags.command, "exec", "", "run this shell `CMD` for each message")
	f.BoolVar(&flags.tunnelEcho, "tunnel-echo", false, "send back what comes through a tunnel")
	f.StringVar(&flags.tunnelCommand, "tunnel-exec", "", "run this shell `CMD` for each tunnel")
	f.IntVar(&flags.limits.Concurrency, "concurrency", 0, "messages handled at once (default 64)")
	f.IntVar(&flags.limits.QueueLength, "queue", 0, "messages waiting at most; -1 = none (default 1024)")
	f.IntVar(&flags.limits.Tunnels, "tunnels", 0, "open tunnels at most (default 16384)")
	f.IntVar(&flags.limits.Capacity, "capacity", 0, "weight of this member in balancing (default 1)")
	f.StringVar(&flags.logLevel, "log-level", "info", logLevelHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := flags.validate()
		if err == nil {
			err = positive(cmd, "concurrency", "tunnels", "capacity")
		}
		if err != nil {
			return misuse(cmd, err)
		}
		return a.runServe(cmd, attachment, args[0], flags)
	}
	return cmd
}

func (f serveFlags) validate() error {
	messages, tunnels := f.echo || f.command != "", f.tunnelEcho || f.tunnelCommand != ""
	switch {
	case !messages && !tunnels:
		return errors.New("say what to serve: --echo or --exec CMD, --tunnel-echo or --tunnel-exec CMD")
	case f.echo && f.command != "":
		return errors.New("choose one of --echo and --exec")
	case f.tunnelEcho && f.tunnelCommand != "":
		return errors.New("choose one of --tunnel-echo and --tunnel-exec")
	}
	return nil
}

func (a App) runServe(cmd *cobra.Command, at *attachment, cluster string, flags serveFlags) error {
	outliveReaders()
	ctx := cmd.Context()
	c, log, err := a.attachLogging(cmd, at, flags.logLevel)
	if err != nil {
		return err
	}
	defer c.Close()
	m := &member{flags: flags, out: a.Stdout, log: log}
	if _, err := c.Serve(ctx, cluster, m.service(), flags.limits); err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	m.print([]byte("arke serve ready\n"))

	<-ctx.Done()
	drain, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	if err := c.Shutdown(drain); err != nil {
		return fmt.Errorf("some of what %s accepted was not finished: %w", cluster, err)
	}
	return nil
}
