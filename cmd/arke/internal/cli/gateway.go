// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/admin"
	"github.com/arke-mesh/arke/internal/collector"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
)

// gatewayKeys is what the file of a gateway looks like.
const gatewayKeys = `The file is YAML:

  networks:
    eu:                        # what the other networks call it
      key-file: eu.key         # and listen, advertise, seed, data-dir, name, zone,
      seed: [relay.eu:7400]    # no-mdns, cluster-key-file, seal-always, certificate
                               # and revocations, as 'arke relay' has them
    us:
      key-file: us.key
  lend:
    - cluster: geo
      from: eu
      to: us
      as: geo                  # its name there; default: the same
      priority: 100            # among several networks the lowest first; 1 to 255
      transit: false           # true: also clusters that other gateways lend to eu
      reseal: true             # this gateway may decrypt the traffic; or
      # finding-key-file: geo.finding    it finds the members, and passes traffic on sealed
      messages-per-second: 0   # limits, 0 = none; also bytes-per-second,
      in-flight: 4096          # and tunnels (1024)
    - topic: quotes.>          # a pattern whose first word is a name
      from: eu
      to: us
      as: rates                # the first word there; default: the same
      reseal: true
      messages-per-second: 0   # limits, 0 = none; also bytes-per-second

A cluster that ends with * is a pattern: with 'cluster: geo.*' and 'as: eu-geo.*' the
cluster geo.maps of eu is eu-geo.maps in us, from the first request for it on.
Nothing else crosses. This gateway decrypts and re-encrypts traffic; acknowledge that with
reseal: true for each crossing. A cluster with a key of its own can cross sealed: give the
gateway its finding key instead, from 'arke keygen --finding-key-of FILE'.`

func gatewayCommand(a App) *cobra.Command {
	var file gatewayFile
	cmd := &cobra.Command{
		Use:   "gateway --config FILE",
		Short: "Lend clusters and topics of one network to another",
		Long: `Lend clusters and topics of one network to another, as a node in each. Callers ask members of
their own network first, and lent ones where those are gone or have too much to do.
'geo@eu' is the cluster geo in the network eu, and no other.

` + gatewayKeys + `

With --admin ADDR the gateway serves /metrics for Prometheus, /healthz, /readyz,
/status.json, /log-level and /debug/pprof there, as 'arke relay' does.

SIGHUP reads the list of what is lent again: what has not changed goes on undisturbed.
It reads keys, bans, certificates and revocations again, too, after 'arke key rotate', say.
SIGTERM or Ctrl-C drains. When the gateway is ready, it prints

  arke gateway ready {"networks":{"eu":{"peer":"…","addrs":["…/p2p/…"]},…}}

` + exits("all was finished after a signal", end{patterns.OutcomeDeadline, "something was cut off"}),
		Example: `  arke gateway --config /etc/arke/gateway.yaml
  arke gateway check --config /etc/arke/gateway.yaml
  arke gateway status --config /etc/arke/gateway.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := file.read(cmd.Flags()); err != nil {
				return misuse(cmd, errors.New(strings.Join(linesOf(err), "\n")))
			}
			return runGateway(cmd.Context(), a, cmd, &file)
		},
	}
	file.declareOn(cmd)
	add(cmd, gatewayCheckCommand(a), gatewayStatusCommand(a))
	return cmd
}

func runGateway(ctx context.Context, a App, cmd *cobra.Command, file *gatewayFile) error {
	log, level, err := file.log.logger(a.log)
	if err != nil {
		return misuse(cmd, err)
	}
	cfg, err := file.config(log)
	if err == nil {
		err = cfg.Check()
	}
	if err != nil {
		return misuse(cmd, err)
	}
	if _, err := file.admin.config(); err != nil {
		return misuse(cmd, err)
	}
	p2p.RouteLogs(log)
	a.stay()
	if a.Env.GOGC == "" {
		defer collector.Pace()()
	}
	hangups, stop := hangups()
	defer stop()
	g, err := gateway.New(cfg)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Start(ctx); err != nil {
		return err
	}
	address, unwatch, err := file.admin.serve(func(c *admin.Config) { c.Gateway, c.Level, c.Logger = g, level, log })
	if err != nil {
		return err
	}
	defer unwatch()
	if err := announceGateway(a, g, address); err != nil {
		return err
	}
	for waits(ctx, hangups) {
		reloadGateway(file, g, log, level)
	}
	if err := a.drain(file.drainTimeout, g.Shutdown); err != nil {
		return fmt.Errorf("some of what was under way was cut off: %w", err)
	}
	return nil
}

// reloadGateway reads the file again. One that makes no sense changes nothing.
func reloadGateway(file *gatewayFile, g *gateway.Gateway, log *zap.Logger, level zap.AtomicLevel) {
	now, err := file.again()
	if err == nil {
		err = now.cross(g)
	}
	if err != nil {
		log.Error("the configuration makes no sense, so nothing has changed", zap.Error(err))
		return
	}
	if l, err := now.log.parse(); err == nil {
		level.SetLevel(l)
	}
	for i := range now.networks {
		if n := &now.networks[i]; g.Node(n.label) != nil {
			n.reload(g.Node(n.label), log)
		}
	}
	log.Info("configuration and keys read again; networks change when the gateway is started again",
		zap.String("file", file.name), zap.Int("lend", len(now.crossings)+len(now.topics.all)))
}

// announceGateway prints the line that scripts wait for.
func announceGateway(a App, g *gateway.Gateway, admin string) error {
	type network struct {
		Peer  string   `json:"peer"`
		Addrs []string `json:"addrs"`
	}
	ready := struct {
		Networks map[string]network `json:"networks"`
		Admin    string             `json:"admin,omitempty"`
	}{map[string]network{}, admin}
	for _, n := range g.Status().Networks {
		ready.Networks[n.Name] = network{n.Node.Peer, fullAddrs(n.Node)}
	}
	return tellReady(a, "gateway", ready)
}

func gatewayCheckCommand(a App) *cobra.Command {
	var file gatewayFile
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Say what a gateway would lend, and what not and why",
		Long: `Say what a gateway would lend, and what not and why. The command reads the files
that the configuration names, and starts nothing.

` + gatewayKeys + `

` + exits("all is in order"),
		Example: `  arke gateway check --config /etc/arke/gateway.yaml
  arke gateway status --config /etc/arke/gateway.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error { return checkGateway(a, cmd.Flags(), &file) },
	}
	file.declareOn(cmd)
	return cmd
}

func checkGateway(a App, flags *pflag.FlagSet, file *gatewayFile) error {
	var problems []string
	add := func(err error) { problems = append(problems, linesOf(err)...) }
	add(file.read(flags))
	_, err := file.log.parse()
	add(err)
	_, err = file.admin.config()
	add(err)
	cfg, err := file.config(zap.NewNop())
	add(err)
	if err == nil {
		add(cfg.CheckNetworks())
	}
	for i, c := range file.crossings {
		problems = append(problems, tellCrossing(a.Stdout, file.where[i], c, cfg.CheckCrossing(i))...)
	}
	for i, c := range file.topics.all {
		problems = append(problems, tellCrossing(a.Stdout, file.topics.where[i], c, cfg.CheckTopic(i))...)
	}
	for _, n := range cfg.Networks {
		if own := n.Node.Network.Name; own != "" && own != n.Name {
			fmt.Fprintf(a.Stdout, "note: the network %s calls itself %s: callers there say geo@%s, all others geo@%s\n", n.Name, own, own, n.Name)
		}
	}
	return tellProblems(a, problems, "the configuration is in order; nothing else crosses")
}

// tellCrossing says whether something crosses, and returns why not: err, with where the
// file has it.
func tellCrossing(w io.Writer, where string, what interface{ Explain() string }, err error) (problems []string) {
	if err == nil {
		fmt.Fprintf(w, "%s: crosses: %s\n", where, what.Explain())
		return nil
	}
	fmt.Fprintf(w, "%s: does not cross: %s\n", where, what)
	for _, line := range linesOf(err) {
		problems = append(problems, where+": "+line)
	}
	return problems
}

// linesOf takes errors that were joined apart.
func linesOf(err error) (lines []string) {
	var several settings.Problems
	switch {
	case err == nil:
		return nil
	case errors.As(err, &several):
		for _, p := range several {
			lines = append(lines, p.Error())
		}
		return lines
	}
	return strings.Split(explain(err), "\n")
}
