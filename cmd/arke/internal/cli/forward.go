// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
)

// forwardFlags are what the user asked for.
type forwardFlags struct {
	listen   string
	logLevel string
}

func (a App) forward() *cobra.Command {
	var flags forwardFlags
	cmd := &cobra.Command{
		Use:   "forward --listen HOST:PORT CLUSTER",
		Short: "Lead a local port to a cluster, until a signal",
		Long: `Lead a local port to a cluster, until a signal: each connection gets a tunnel
of its own to one member, picked by load. The members are services that were
made so by 'arke expose', or any that take tunnels.

Prints "arke forward ready HOST:PORT" when it listens; port 0 means any free
one, no host means 127.0.0.1. A connection for which no member can be had is
reset, with a line on standard error. SIGTERM or Ctrl-C drains: no new
connections, those open may end by themselves; a second signal ends at once.

Whoever reaches the port uses the cluster, without any key: listen on loopback
unless that is what you want.

Exit status: 0 all connections had ended after a signal, 5 no relay, 6 some
were cut off after 30 s, 8 unauthorized, 1 anything else.`,
		Example: `  arke forward --listen 127.0.0.1:5433 db
  psql --host 127.0.0.1 --port 5433`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "`HOST:PORT` to listen on")
	f.StringVar(&flags.logLevel, "log-level", "info", logLevelHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.runForward(cmd, attachment, args[0], flags)
	}
	return cmd
}

// endpoint returns where to listen, as net.Listen wants to have it.
func (f forwardFlags) endpoint() (network, address string, err error) {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		return "", "", fmt.Errorf("--listen %q is not HOST:PORT", f.listen)
	}
	if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
		return "", "", fmt.Errorf("--listen %q: a port is between 0 and 65535", f.listen)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	network = "tcp"
	if ip := net.ParseIP(host); ip != nil && ip.To4() != nil {
		network = "tcp4" // or 0.0.0.0 would mean IPv6, too
	}
	return network, net.JoinHostPort(host, port), nil
}

func (a App) runForward(cmd *cobra.Command, at *attachment, cluster string, flags forwardFlags) error {
	outliveReaders()
	network, address, err := flags.endpoint()
	if err != nil {
		return misuse(cmd, err)
	}
	c, log, err := a.attachLogging(cmd, at, flags.logLevel)
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	addr := l.Addr().(*net.TCPAddr)
	if !addr.IP.IsLoopback() {
		fmt.Fprintf(a.Stderr, "arke: warning: %s is not loopback: whoever reaches it uses %s without a key\n", addr, cluster)
	}
	f := tcp.NewForwarder(tcp.ForwardConfig{Listener: l.(*net.TCPListener), Cluster: cluster, Opener: c, Log: log})
	fmt.Fprintf(a.Stdout, "arke forward ready %s\n", addr)
	err = f.Serve(cmd.Context())

	drain, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	if cut := f.Shutdown(drain); cut != nil {
		cut = fmt.Errorf("some connections to %s were cut off: %w", cluster, cut)
		return errors.Join(err, cut)
	}
	return err
}
