// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/collector"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

// defaultPort is where a relay listens unless told otherwise, so that peers
// find it again after a restart and seeds are easy to write down.
const defaultPort = 7400

// relayFlags are what the user asked for.
type relayFlags struct {
	keyFile      string
	listen       []string
	advertise    []string
	seeds        []string
	socket       string
	clientListen string
	token        secretFlag
	dataDir      string
	name         string
	zone         string
	maxClients   int
	noMDNS       bool
	dev          bool
	logLevel     string
}

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
restarts. SIGTERM or Ctrl-C drains: the relay finishes the open requests and
tunnels, for 30 s at most. Meanwhile its programs wait for a relay to come back.
A second signal ends the relay at once.

Each queue has a limit, and the relay's memory follows what its queues hold.
Garbage that Go has not collected yet comes on top: at most a fifth of what is in
use, or 4 MiB if that is more (8 MiB while the relay is busy). If the variable
GOGC is set, it decides instead. GOMEMLIMIT holds in any case.

Without --listen the relay listens on TCP port ` + strconv.Itoa(defaultPort) + ` of every address, or on any
free port if that one is taken.

` + exits("all was finished after a signal", end{patterns.OutcomeDeadline, "something was cut off"}),
		Example: `  arke relay --dev
  arke relay --key-file home.key
  arke relay --key-file home.key --seed relay-1.example:7400 --data-dir /var/lib/arke`,
		Args: positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runRelay(a, cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.keyFile, "key-file", "", "the network file, made by 'arke keygen'")
	f.StringArrayVar(&flags.listen, "listen", nil, "`MULTIADDR` to listen on, like /ip4/0.0.0.0/tcp/7400; may be repeated")
	f.StringArrayVar(&flags.advertise, "advertise", nil, "`MULTIADDR` at which others reach this relay, if that is another one; may be repeated")
	f.StringArrayVar(&flags.seeds, "seed", nil, "`ADDR` of a node of the network, a multiaddr or HOST:PORT; may be repeated")
	f.StringVar(&flags.socket, "socket", "", "unix socket for programs (default $ARKE_SOCKET, else in the user's runtime directory)")
	f.StringVar(&flags.clientListen, "client-listen", "", "also accept programs on this loopback `HOST:PORT`; needs --token-file or $ARKE_TOKEN")
	flags.token.declare(f, "the `FILE` with the token that programs need at --client-listen, at least 16 bytes (default $ARKE_TOKEN)")
	f.StringVar(&flags.dataDir, "data-dir", "", "directory for the node's key and its remembered peers")
	f.StringVar(&flags.name, "name", "", "what people call this relay, in the logs and the status of others; at most 64 bytes (default: the host's name)")
	f.StringVar(&flags.zone, "zone", "", "where this relay is; callers prefer members of their own zone")
	f.IntVar(&flags.maxClients, "max-clients", 256, "programs that may be attached at once; an idle one costs about 45 KB")
	f.BoolVar(&flags.noMDNS, "no-mdns", false, "do not look for peers on the local network")
	f.BoolVar(&flags.dev, "dev", false, "try it out: a new network of its own, loopback only, no mDNS")
	f.StringVar(&flags.logLevel, "log-level", "info", logLevelHelp)
	return cmd
}

func runRelay(a App, cmd *cobra.Command, flags relayFlags) error {
	log, err := a.logger(flags.logLevel)
	if err != nil {
		return misuse(cmd, err)
	}
	if err := flags.validate(); err != nil {
		return misuse(cmd, err)
	}
	token, err := flags.readToken(a.Env.Token)
	if err != nil {
		return misuse(cmd, err)
	}
	network, err := network(a, flags)
	if err != nil {
		return err
	}
	flags.socket = a.Env.socket(flags.socket)
	p2p.RouteLogs(log)
	outliveReaders()
	return serveRelay(cmd.Context(), a, network, flags.withDefaults(), token, log)
}

// validate checks what no layer below can name as well.
func (f relayFlags) validate() error {
	if f.clientListen == "" && f.token.file != "" {
		return errors.New("--token-file goes with --client-listen")
	}
	if f.maxClients < 1 {
		return errors.New("--max-clients is less than 1")
	}
	if len(f.name) > maxNodeName || !utf8.ValidString(f.name) {
		return fmt.Errorf("--name is longer than %d bytes, or not UTF-8", maxNodeName)
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"listen", f.listen}, {"advertise", f.advertise}, {"seed", f.seeds}} {
		if slices.Contains(list.values, "") {
			return fmt.Errorf("--%s is empty: is a variable not set?", list.flag)
		}
	}
	return nil
}

// leastToken is how many bytes a token has at least: whoever reaches the port may
// try one after the other.
const leastToken = 16

// readToken returns what programs must show at the TCP address, if there is one.
func (f relayFlags) readToken(env string) (string, error) {
	if f.clientListen == "" {
		return "", nil
	}
	token, err := f.token.read(env)
	switch {
	case err != nil:
		return "", err
	case token == "":
		return "", errors.New("--client-listen needs --token-file FILE or ARKE_TOKEN: every user of this machine can reach the port")
	case len(token) < leastToken:
		return "", fmt.Errorf("the token has %s, at least %d are required: make one with 'head -c 24 /dev/urandom | base64'", plural(len(token), "byte"), leastToken)
	}
	return token, nil
}

// maxNodeName is how many bytes the name of a relay has at most.
const maxNodeName = 64

// withDefaults fills in where to listen, and what the relay is called.
func (f relayFlags) withDefaults() relayFlags {
	f.noMDNS = f.noMDNS || f.dev
	if f.name == "" {
		// Without a host name the relay has none: its peer id tells it apart.
		host, _ := os.Hostname()
		f.name = strings.ToValidUTF8(host[:min(len(host), maxNodeName)], "")
	}
	switch {
	case len(f.listen) > 0:
	case f.dev:
		f.listen = []string{"/ip4/127.0.0.1/tcp/0"}
	default:
		f.listen = defaultListen()
	}
	return f
}

// network returns the network file that the flags or the environment name.
func network(a App, flags relayFlags) (security.NetworkFile, error) {
	switch {
	case flags.keyFile != "":
		file, err := security.ReadNetworkFile(flags.keyFile)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no network file %s: make one with 'arke keygen --out %s', or copy that of the network", flags.keyFile, flags.keyFile)
		}
		return file, err
	case flags.dev:
		return security.GenerateNetworkFile("dev", rand.Reader)
	case a.Env.Network != "":
		file, err := security.ParseNetworkFile([]byte(a.Env.Network))
		if err != nil {
			return file, fmt.Errorf("ARKE_NETWORK: %w", err)
		}
		return file, nil
	}
	return security.NetworkFile{}, errors.New("which network? make a key with 'arke keygen --out FILE' and pass --key-file FILE, or try --dev")
}

// defaultListen returns the addresses to listen on where none were given: the
// default port of each family that the machine has, or nothing, which means
// any free port, if a relay is there already.
func defaultListen() []string {
	var addrs []string
	for _, family := range []struct{ network, any string }{{"tcp4", "/ip4/0.0.0.0"}, {"tcp6", "/ip6/::"}} {
		l, err := net.Listen(family.network, ":"+strconv.Itoa(defaultPort))
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil
		}
		if err == nil {
			l.Close()
			addrs = append(addrs, fmt.Sprintf("%s/tcp/%d", family.any, defaultPort))
		}
	}
	return addrs
}

func serveRelay(ctx context.Context, a App, network security.NetworkFile, flags relayFlags, token string, log *zap.Logger) error {
	if a.Env.GOGC == "" {
		defer collector.Pace()()
	}
	n, err := node.New(node.Config{
		Network:   network,
		Listen:    flags.listen,
		Advertise: flags.advertise,
		Seeds:     flags.seeds,
		DataDir:   flags.dataDir,
		Name:      flags.name,
		Zone:      flags.zone,
		NoMDNS:    flags.noMDNS,
		Logger:    log,
	})
	if err != nil {
		return err
	}
	defer n.Close()
	var tokens []relay.Token
	if token != "" {
		tokens = []relay.Token{{Name: "token", Secret: token}}
	}
	r, err := relay.New(relay.Config{
		Node:   n,
		Status: func() any { return n.Status() },
		Peer:   n.Self().String(),
		Socket: flags.socket,
		Listen: flags.clientListen,
		Tokens: tokens,
		Limits: relay.Limits{Clients: flags.maxClients},
		Logger: log,
	})
	if err != nil {
		return err
	}
	defer r.Close()
	if err := n.Start(ctx); err != nil {
		return err
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	if err := announce(a, n, flags.socket); err != nil {
		return err
	}

	<-ctx.Done()
	err = a.drain(func(ctx context.Context) error { return errors.Join(r.Shutdown(ctx), n.Shutdown(ctx)) })
	if err != nil {
		return fmt.Errorf("some of what was under way was cut off: %w", err)
	}
	return nil
}

// announce prints the line that scripts wait for.
func announce(a App, n *node.Node, socket string) error {
	status := n.Status()
	ready := struct {
		Peer   string   `json:"peer"`
		Addrs  []string `json:"addrs"`
		Socket string   `json:"socket"`
	}{status.Peer, nil, socket}
	for _, addr := range status.Addrs {
		ready.Addrs = append(ready.Addrs, addr+"/p2p/"+status.Peer)
	}
	line, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "arke relay ready %s\n", line)
	return err
}

func statusCommand(a App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the relay: its peers, links, clusters, clients, queues, and drops",
		Long: `Show the relay: its peers, links, clusters, clients, queues, and drops. Counters
start at 0 when the relay starts. --json shows more of them.

` + exits("it answered", end{patterns.OutcomeUnreachable, "no relay"}, end{patterns.OutcomeUnauthorized, ""}),
		Example: `  arke status
  arke status --json | jq '.links[].peer'`,
		Args: positional(0, 0),
	}
	attachment := a.attachFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return attachment.within(cmd.Context(), patience, func(ctx context.Context, c *client.Client) error {
			return showStatus(ctx, a, c, asJSON)
		})
	}
	return cmd
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
type relayStatus struct {
	node.Status
	Relay relay.Status `json:"relay"`
}

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
	t.row("peers", s.peers())
	t.row("anchor of", fmt.Sprintf("%d leases, %d watches", s.Anchors.Leases, s.Anchors.Watches))
	t.row("requests", fmt.Sprintf("%d sent, %d of them retries, %d pending", s.Requests.Sent, s.Requests.Retried, s.Requests.Pending))
	t.row("topics", fmt.Sprintf("%d subscriptions; %d published, %d copies sent, %d received", s.Topics.Subscriptions, s.Topics.Published, s.Topics.Copies, s.Topics.Received))
	t.row("tunnels", fmt.Sprintf("%d opened here, %d served, %d bytes of buffers", s.Tunnels.Opened, s.Tunnels.Served, s.Tunnels.BufferBytes))
}

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
	t.row("LINK TO", "NAME", "STATE", "RTT", "QUEUED", "ADDRESS")
	for _, l := range s.Links {
		t.row(l.Peer, dash(l.Name), l.State, l.RTT.Round(time.Microsecond), counts(l.Queued), l.Addr)
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
			t.row(w.Cluster, w.Members)
		}
	}
}

func (s relayStatus) writeClients(t table) {
	t.gap()
	t.row("CLIENT", "SERVES", "REQUESTS", "DELIVERIES", "SUBSCRIPTIONS", "TUNNELS", "UNREAD BYTES")
	for _, c := range s.Relay.Clients {
		t.row(c.Name, dash(strings.Join(c.Clusters, " ")), c.Requests, c.Deliveries, c.Subscriptions, c.Tunnels, c.Queued)
	}
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

// counts writes a map of counters as one word.
func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s=%d", k, m[k]))
	}
	return dash(strings.Join(parts, ","))
}

// dash stands where there is nothing.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// patience bounds the questions to the relay that have no flag for it.
const patience = 5 * time.Second

func membersCommand(a App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "members CLUSTER",
		Short: "List who serves a cluster now",
		Long: `List who serves a cluster now, as its callers on this machine see it.

A state other than live means that callers leave the member out for a while.

` + exits("there are some", end{patterns.OutcomeNoMembers, "nobody serves it"}, end{patterns.OutcomeUnreachable, ""}, end{patterns.OutcomeUnauthorized, ""}),
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
	Incarnation uint64 `json:"incarnation"`
	Zone        string `json:"zone,omitempty"`
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
			o := memberJSON{m.ID, m.Peer, m.Incarnation, m.Zone, m.Capacity, m.State}
			if err := writeJSON(a.Stdout, o); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(a.Stdout)
	t.row("MEMBER", "STATE", "ZONE", "CAPACITY", "PEER")
	for _, m := range members {
		t.row(m.ID, m.State, dash(m.Zone), m.Capacity, m.Peer)
	}
	return t.flush()
}
