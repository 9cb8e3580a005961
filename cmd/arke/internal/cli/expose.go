// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
	"github.com/arke-mesh/arke/patterns"
)

// exposeFlags are what the user asked for.
type exposeFlags struct {
	to       string
	limits   patterns.Limits
	logLevel string
}

func (a App) expose() *cobra.Command {
	var flags exposeFlags
	cmd := &cobra.Command{
		Use:   "expose CLUSTER --to tcp://HOST:PORT",
		Short: "Make a TCP service a member of a cluster, until a signal",
		Long: `Make a TCP service a member of a cluster, until a signal. Each tunnel that is
opened to the member becomes a connection to the service; 'arke forward' turns
connections into tunnels elsewhere.

Prints "arke expose ready" when the service is a member. While nothing takes
connections at HOST:PORT, it is none: it waits for the service, and leaves the
cluster when the service is gone, so that callers are led to other members.
SIGTERM or Ctrl-C drains: no new tunnels, those open may end by themselves; a
second signal ends at once.

Exit status: 0 all connections had ended after a signal, 5 no relay, 6 some
were cut off after 30 s, 8 unauthorized, 1 anything else.`,
		Example: `  arke expose db --to tcp://127.0.0.1:5432
  arke forward --listen 127.0.0.1:5433 db      # on another machine
  psql --host 127.0.0.1 --port 5433            # there`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.to, "to", "", "where the service listens, `tcp://HOST:PORT` (required)")
	f.IntVar(&flags.limits.Tunnels, "tunnels", 0, "connections at once (default 16384)")
	f.IntVar(&flags.limits.Capacity, "capacity", 0, "weight of this member in balancing (default 1)")
	f.StringVar(&flags.logLevel, "log-level", "info", logLevelHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		target, err := flags.target()
		if err == nil {
			err = positive(cmd, "tunnels", "capacity")
		}
		if err != nil {
			return misuse(cmd, err)
		}
		return a.runExpose(cmd, attachment, args[0], target, flags)
	}
	return cmd
}

// target returns the service's HOST:PORT.
func (f exposeFlags) target() (string, error) {
	u, err := url.Parse(f.to)
	switch {
	case f.to == "":
		return "", fmt.Errorf("say which service, with --to tcp://HOST:PORT")
	case err != nil || u.Scheme != "tcp" || u.Hostname() == "" || u.Port() == "" || u.Host != f.to[len("tcp://"):]:
		return "", fmt.Errorf("--to %q is not tcp://HOST:PORT", f.to)
	}
	if port, err := strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
		return "", fmt.Errorf("--to %q: a port is between 1 and 65535", f.to)
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}

func (a App) runExpose(cmd *cobra.Command, at *attachment, cluster, target string, flags exposeFlags) error {
	outliveReaders()
	ctx := cmd.Context()
	c, log, err := a.attachLogging(cmd, at, flags.logLevel)
	if err != nil {
		return err
	}
	var ready sync.Once
	e := tcp.NewExposer(tcp.ExposeConfig{
		Cluster: cluster,
		Target:  target,
		Server:  c,
		Limits:  flags.limits,
		Ready:   func() { ready.Do(func() { fmt.Fprintln(a.Stdout, "arke expose ready") }) },
		Log:     log,
	})
	defer e.Close()
	defer c.Close()
	if err := e.Run(ctx); err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	drain, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	if err := c.Shutdown(drain); err != nil {
		return fmt.Errorf("some connections of %s were cut off: %w", cluster, err)
	}
	return nil
}
