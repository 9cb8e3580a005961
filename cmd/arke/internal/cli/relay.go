// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/doctor"
	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/internal/admin"
	"github.com/arke-mesh/arke/internal/collector"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/nodename"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

func relayCommand(a App) *cobra.Command {
	var flags relayFlags
	cmd := &cobra.Command{
		Use:   "relay --key-file FILE",
		Short: "Run the daemon that attaches this machine's programs to a network",
		Long: `Run the daemon that attaches this machine's programs to a network.

The network file comes from --key-file or, as text, from the environment
variable ARKE_NETWORK. Relays with the same key find each other on the local
network by mDNS. Elsewhere --seed names one or more. When the relay is ready, it
prints

  arke relay ready {"peer":"…","addrs":["…/p2p/…"],"socket":"…"}

With --data-dir the relay keeps its peer id and remembers its peers over
restarts. SIGTERM or Ctrl-C drains, for --drain-timeout at most. While tunnels
are open, the relay serves its programs as before, for two thirds of that time.
Then its members leave, and accepted requests are finished. Programs wait for the
next relay. A second signal ends the relay at once.

With --admin ADDR the relay serves /metrics for Prometheus, /healthz, /readyz,
/status.json, /log-level and /debug/pprof there. An address that other machines
reach needs --admin-token-file.

Each queue has a limit, and the relay's memory follows what its queues hold.
Garbage that Go has not collected yet comes on top: at most a fifth of what is in
use, or 4 MiB if that is more (8 MiB while the relay is busy). If the variable
GOGC is set, it decides instead. GOMEMLIMIT holds in any case.

Without --listen the relay listens on TCP port ` + strconv.Itoa(defaultPort) + ` of every address, or on the
next free port if that one is taken; it logs a warning then. A port that was
asked for and is taken is an error.

Each flag is also a key of the YAML file that --config names, and a variable:
--max-clients is the key max-clients and ARKE_MAX_CLIENTS. A flag stands above
the environment, the environment above the file, the file above the default. In
a variable, commas separate what a flag would repeat. With --config, SIGHUP reads
the file again: 'arke config show' marks what can change then. With --policy it reads
the policy again. It never ends the relay.

` + exits("all was finished after a signal", end{patterns.OutcomeDeadline, "something was cut off"}),
		Example: `  arke relay --dev
  arke relay --key-file home.key
  arke relay --key-file home.key --seed relay-1.example:7400 --data-dir /var/lib/arke
  arke relay --key-file home.key --cluster-key-file vault.key
  arke relay --config /etc/arke/relay.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRelay(a, cmd, &flags) },
	}
	flags.declare(cmd.Flags())
	return cmd
}

func runRelay(a App, cmd *cobra.Command, flags *relayFlags) error {
	set, err := flags.resolve(a, cmd.Flags())
	if err != nil {
		return err
	}
	log, level, err := flags.log.logger(a.log)
	if err != nil {
		return misuse(cmd, err)
	}
	if err := flags.validate(set); err != nil {
		return misuse(cmd, err)
	}
	if faults := flags.addressFaults(); len(faults) > 0 {
		return misuse(cmd, faults[0])
	}
	guests, err := flags.readGuests(a.Env.Token)
	if err != nil {
		return misuse(cmd, err)
	}
	if _, err := flags.admin.config(); err != nil {
		return misuse(cmd, err)
	}
	network, err := network(a, *flags)
	if err != nil {
		return err
	}
	keys, err := flags.readClusterKeys()
	if err != nil {
		return err
	}
	p2p.RouteLogs(log)
	a.stay()
	r := &running{app: a, asked: flags, flags: *flags, settings: set, guests: guests, log: log, level: level}
	if err := r.issuing.load(flags.certificates); err != nil {
		return misuse(cmd, err)
	}
	r.flags.fillIn(a, log)
	return r.run(cmd.Context(), network, keys)
}

// running is a relay with its node, and how it is configured now.
type running struct {
	app      App
	asked    *relayFlags // what settings is about
	flags    relayFlags  // with what was not asked for filled in, at the start
	settings *settings.Settings
	guests   guests
	log      *zap.Logger
	level    zap.AtomicLevel
	node     *node.Node
	relay    *relay.Relay
	issuing  issuing
	network  security.NetworkFile // at the start
}

// relayConfig is what the flags say about the relay.
func (flags *relayFlags) relayConfig(g guests) relay.Config {
	return relay.Config{
		Socket: flags.socket,
		Listen: flags.clientListen,
		Tokens: g.tokens,
		Share:  g.share,
		Policy: g.policy,
		Limits: flags.limits,
	}
}

// run serves until ctx ends, and then drains.
func (r *running) run(ctx context.Context, network security.NetworkFile, keys map[string][]security.KeyVersion) (err error) {
	if r.app.Env.GOGC == "" {
		defer collector.Pace()()
	}
	hangups, stop := hangups()
	defer stop()
	r.network = network
	of := r.flags.nodeConfig(node.Keys{Network: network, Clusters: keys})
	of.Logger = r.log
	if err := r.flags.certificates.read(&of); err != nil {
		return err
	}
	if r.node, err = node.New(of); err != nil {
		return err
	}
	defer r.node.Close()
	cfg := r.flags.relayConfig(r.guests)
	cfg.Node, cfg.Peer, cfg.Calls, cfg.Logger = r.node, r.node.Self().String(), of.Calls, r.log
	cfg.Status = func() any { return r.node.Status() }
	if r.relay, err = relay.New(cfg); err != nil {
		return err
	}
	defer r.relay.Close()
	if err := r.node.Start(ctx); err != nil {
		return err
	}
	if err := r.relay.Start(ctx); err != nil {
		return err
	}
	if err := r.issuing.begin(ctx, r.node, r.log); err != nil {
		return err
	}
	if r.flags.dataDir == "" && !r.flags.dev {
		r.log.Warn("no --data-dir: this relay has a new peer id after each start, and remembers no peers")
	}
	address, unwatch, err := r.flags.admin.serve(func(c *admin.Config) {
		c.Node, c.Relay, c.Level, c.Logger = r.node, r.relay, r.level, r.log
	})
	if err != nil {
		return err
	}
	defer unwatch()
	self := r.node.Self().String()
	r.log.Info("started", zap.String("network", network.Name), zap.String("peer", nodename.Of(r.flags.name, self)), zap.String("id", self), zap.Strings("addrs", r.node.Addrs()))
	defer r.log.Info("stopped")
	if err := announce(r.app, r.node, r.flags.socket, address); err != nil {
		return err
	}

	for waits(ctx, hangups) {
		r.reload(ctx)
	}
	err = r.app.drain(r.asked.drainTimeout, func(ctx context.Context) error {
		return errors.Join(r.relay.Shutdown(ctx), r.node.Shutdown(ctx))
	})
	if err != nil {
		return fmt.Errorf("some of what was under way was cut off: %w", err)
	}
	return nil
}

// announce prints the line that scripts wait for.
func announce(a App, n *node.Node, socket, admin string) error {
	status := n.Status()
	return tellReady(a, "relay", struct {
		Peer   string   `json:"peer"`
		Addrs  []string `json:"addrs"`
		Socket string   `json:"socket"`
		Admin  string   `json:"admin,omitempty"`
	}{status.Peer, fullAddrs(status), socket, admin})
}

// tellReady prints that a command is ready, with what others need to know of it.
func tellReady(a App, command string, ready any) error {
	line, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "arke %s ready %s\n", command, line)
	return err
}

// fullAddrs are the addresses of a node with its peer id, as others dial it.
func fullAddrs(s node.Status) []string {
	addrs := make([]string, 0, len(s.Addrs))
	for _, addr := range s.Addrs {
		addrs = append(addrs, addr+"/p2p/"+s.Peer)
	}
	return addrs
}

func statusCommand(a App) *cobra.Command {
	var asJSON bool
	var name string
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the relay: its peers, links, clusters, clients, queues, and drops",
		Long: `Show the relay: its peers, links, clusters, clients, queues, and drops. Counters
start at 0 when the relay starts. --json shows more of them, and whole peer ids. --explain says what
one of them means, and needs no relay.

` + exits("it answered", append([]end{{patterns.OutcomeUnreachable, "no relay"}}, usual(patterns.OutcomeUnauthorized, patterns.OutcomeTooMany)...)...),
		Example: `  arke status
  arke status --watch 2s
  arke status --json | jq '.links[].peer'
  arke status --explain request.queue_length`,
	}
	attachment := a.attachFlags(cmd)
	attachment.observes = true
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&name, "explain", "", "say what the counter, field or metric of this `NAME` means")
	cmd.Flags().DurationVar(&every, "watch", 0, "show it again and again, with so much time between, until a signal")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("explain") {
			return explainNumber(a, cmd, name)
		}
		if every < 0 {
			return misuse(cmd, fmt.Errorf("--watch %s is negative", every))
		}
		show := func(ctx context.Context) error {
			return attachment.within(ctx, patience, func(ctx context.Context, c *client.Client) error {
				return showStatus(ctx, a, c, asJSON)
			})
		}
		if every == 0 {
			return show(cmd.Context())
		}
		return watchStatus(cmd.Context(), a, every, asJSON, show)
	}
	return cmd
}

// watchStatus shows the status until ctx ends. A relay that is away is waited for:
// to see it come back is what one watches for.
func watchStatus(ctx context.Context, a App, every time.Duration, asJSON bool, show func(context.Context) error) error {
	pause := time.NewTicker(every)
	defer pause.Stop()
	for {
		switch {
		case asJSON:
		case isTerminal(a.Stdout):
			fmt.Fprint(a.Stdout, "\x1b[H\x1b[2J") // the cursor to the top, and nothing left below it
		default:
			fmt.Fprintf(a.Stdout, "# %s\n", time.Now().UTC().Format(time.RFC3339))
		}
		err := show(ctx)
		var away *attachError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &away):
			fmt.Fprintln(a.Stderr, "arke: "+explain(err))
		case err != nil:
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func showStatus(ctx context.Context, a App, c *client.Client, asJSON bool) error {
	raw, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.Stdout, raw)
	}
	var s relayStatus
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("the relay's status makes no sense, is it of another version? %w", err)
	}
	t := newTable(a.Stdout)
	s.write(t)
	return t.flush()
}

// relayStatus is what a relay says about itself and its node.
type relayStatus struct{ doctor.Running }

// write prints everything for people, leaving out what is empty.
func (s relayStatus) write(t table) {
	s.writeNode(t)
	s.writeLinks(t)
	s.writeClusters(t)
	s.writeClients(t)
	s.writeDrops(t)
}

func (s relayStatus) writeNode(t table) {
	t.row("peer", s.Peer)
	t.row("network", fmt.Sprintf("%s (id %s)", s.Network, s.NetworkID))
	t.row("state", s.State)
	if s.Name != "" {
		t.row("name", s.Name)
	}
	if s.Zone != "" {
		t.row("zone", s.Zone)
	}
	t.row("socket", s.Relay.Socket)
	if s.Relay.Listen != "" {
		t.row("clients at", s.Relay.Listen)
	}
	for _, addr := range s.Addrs {
		t.row("address", addr)
	}
	if d := s.Data; d != nil && d.Error == "" {
		t.row("data", d.Dir)
	} else if d != nil {
		t.row("data", fmt.Sprintf("%s  can't be written: %s", d.Dir, d.Error))
	}
	for _, seed := range s.Seeds {
		t.row("seed", seed.Text(time.Now()))
	}
	s.writeCertificate(t)
	t.row("peers", s.peers())
	if s.TurnedAway != "" {
		t.row("refused", s.TurnedAway)
	} else if s.Doubt != "" {
		t.row("in doubt", s.Doubt+"; who serves what can't be known until it joins")
	}
	if err := s.Clock.Err(); err != nil {
		t.row("clock", err)
	}
	for _, l := range s.Links {
		if l.ClockAhead != nil && l.ClockAhead.Abs() >= clockShown {
			t.row("clock of", fmt.Sprintf("%s: %v ahead", nodename.Of(l.Name, l.Peer), l.ClockAhead.Round(time.Second)))
		}
	}
	t.row("anchor of", fmt.Sprintf("%d clusters, %d leases, %d watches", s.Anchors.Clusters, s.Anchors.Leases, s.Anchors.Watches))
	t.row("requests", fmt.Sprintf("%d sent, %d of them retries, %d pending", s.Requests.Sent, s.Requests.Retried, s.Requests.Pending))
	t.row("topics", fmt.Sprintf("%d subscriptions; %d published, %d copies sent, %d received", s.Topics.Subscriptions, s.Topics.Published, s.Topics.Copies, s.Topics.Received))
	t.row("tunnels", fmt.Sprintf("%d opened here, %d served, %d bytes of buffers", s.Tunnels.Opened, s.Tunnels.Served, s.Tunnels.BufferBytes))
}

// clockShown is by how much a peer's clock differs for people to be told.
const clockShown = 30 * time.Second

// peers says how many other nodes are known.
func (s relayStatus) peers() string {
	switch {
	case s.Peers == 0:
		return "none found yet"
	case len(s.Links) == 0:
		return fmt.Sprintf("%d known; links open when there is something to say", s.Peers)
	}
	return fmt.Sprintf("%d known", s.Peers)
}

func (s relayStatus) writeLinks(t table) {
	if len(s.Links) == 0 {
		return
	}
	t.gap()
	t.row("LINK TO", "STATE", "RTT", "QUEUED", "ADDRESS")
	for _, l := range s.Links {
		t.row(nodename.Of(l.Name, l.Peer), l.State, l.RTT.Round(time.Microsecond), counts(l.Queued, "%s=%d", ","), l.Addr)
	}
}

func (s relayStatus) writeClusters(t table) {
	if len(s.Queues) > 0 {
		t.gap()
		t.row("SERVES", "MEMBER", "RUNNING", "WAITING", "HANDLED")
		for _, q := range s.Queues {
			t.row(q.Cluster, q.Member, q.Running, fmt.Sprintf("%d (%d bytes)", q.Waiting, q.Bytes), q.Handled)
		}
	}
	if len(s.Watches) > 0 {
		t.gap()
		t.row("CALLS", "MEMBERS")
		for _, w := range s.Watches {
			name := w.Cluster
			if w.Internal {
				name += " (internal, for topics)"
			}
			t.row(name, w.Members)
		}
	}
}

func (s relayStatus) writeClients(t table) {
	t.gap()
	t.row("CLIENT", "PID", "USER", "SERVES", "REQUESTS", "DELIVERIES", "SUBSCRIPTIONS", "TUNNELS", "UNREAD BYTES")
	for _, c := range s.Relay.Clients {
		pid := "-"
		if c.PID > 0 {
			pid = strconv.Itoa(c.PID)
		}
		t.row(c.Name+condition(c), pid, clientUser(c), dash(strings.Join(c.Clusters, " ")), c.Requests, c.Deliveries, c.Subscriptions, c.Tunnels, c.Queued)
	}
}

// clientUser says whose program it is: its user, and the token that it has.
func clientUser(c relay.ClientStatus) string {
	var who []string
	if c.User != nil {
		name := strconv.Itoa(*c.User)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		who = append(who, name)
	}
	if c.Token != "" {
		who = append(who, "token "+c.Token)
	}
	return dash(strings.Join(who, ", "))
}

// condition says what is unusual about a client.
func condition(c relay.ClientStatus) string {
	switch {
	case c.Silent:
		return " (hangs)"
	case c.Away:
		return " (away)"
	}
	return ""
}

func (s relayStatus) writeDrops(t table) {
	drops := s.drops()
	if len(drops) == 0 {
		return
	}
	t.gap()
	t.row("DROPPED", "COUNT")
	for _, reason := range slices.Sorted(maps.Keys(drops)) {
		t.row(reason, drops[reason])
	}
}

// drops returns the counters of node and relay that are not zero.
func (s relayStatus) drops() map[string]uint64 {
	all := maps.Clone(s.Drops)
	if all == nil {
		all = map[string]uint64{}
	}
	for reason, n := range s.Relay.Drops {
		all["relay."+reason] = n
	}
	maps.DeleteFunc(all, func(_ string, n uint64) bool { return n == 0 })
	return all
}

// counts lists the counters of a map that are not zero, each in a format, and something
// between them.
func counts[N int | uint64](m map[string]N, format, between string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] > 0 {
			parts = append(parts, fmt.Sprintf(format, k, m[k]))
		}
	}
	return dash(strings.Join(parts, between))
}

// dash stands where there is nothing.
func dash(s string) string {
	return cmp.Or(s, "-")
}

// patience bounds the questions to the relay that have no flag for it.
const patience = 5 * time.Second

func membersCommand(a App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "members CLUSTER",
		Short: "List the members of a cluster",
		Long: `List the members of a cluster, as its callers on this machine see it.

A state other than live means that callers leave the member out for a while. A node
has the name that it has given itself, as far as this relay knows, and the end of
its peer id; --json shows all of it.

` + exits("there are some", append([]end{{patterns.OutcomeNoMembers, "no member"}},
			usual(patterns.OutcomeUnreachable, patterns.OutcomeUnauthorized, patterns.OutcomeTooMany)...)...),
		Example: `  arke members zones
  arke members zones --json | jq -r .peer`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per member")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return attachment.within(cmd.Context(), patience, func(ctx context.Context, c *client.Client) error {
			return listMembers(ctx, a, c, args[0], asJSON)
		})
	}
	return cmd
}

// memberJSON is one member.
type memberJSON struct {
	Member      string `json:"member"`
	Peer        string `json:"peer"`
	Name        string `json:"name,omitempty"` // of the peer
	Incarnation uint64 `json:"incarnation"`
	Zone        string `json:"zone,omitempty"`
	Network     string `json:"network,omitempty"`
	Capacity    int    `json:"capacity"`
	State       string `json:"state"`
}

func listMembers(ctx context.Context, a App, c *client.Client, cluster string, asJSON bool) error {
	members, err := c.Members(ctx, cluster)
	if err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	if asJSON {
		for _, m := range members {
			o := memberJSON{m.ID, m.Peer, m.Name, m.Incarnation, m.Zone, m.Network, m.Capacity, m.State}
			if err := writeJSON(a.Stdout, o); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(a.Stdout)
	t.row("MEMBER", "STATE", "NETWORK", "ZONE", "CAPACITY", "NODE")
	for _, m := range members {
		t.row(m.ID, m.State, dash(m.Network), dash(m.Zone), m.Capacity, nodename.Of(m.Name, m.Peer))
	}
	return t.flush()
}
