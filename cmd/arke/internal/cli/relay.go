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
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/collector"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/relay"
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
	token        string
	dataDir      string
	zone         string
	noMDNS       bool
	dev          bool
	logLevel     string
}

func (a App) relay() *cobra.Command {
	var flags relayFlags
	cmd := &cobra.Command{
		Use:   "relay --key-file FILE",
		Short: "Run the daemon that attaches this machine's programs to a network",
		Long: `Run the daemon that attaches this machine's programs to a network.

The network file comes from --key-file or, as text, from the environment
variable ARKE_NETWORK. Relays with the same key find each other on the local
network by mDNS; elsewhere --seed names one or more. When it serves, it prints

  arke relay ready {"peer":"…","addrs":["…/p2p/…"],"socket":"…"}

With --data-dir it keeps its peer id and remembers its peers over restarts.
SIGTERM or Ctrl-C drains: what is under way is finished, tunnels too, for 30 s
at most, while its programs wait for a relay to come back; a second signal ends
at once.

Its memory follows what waits in its queues, each of which has a limit, and a
fifth more, or 4 MiB, which Go's collector has not taken back yet. With the
variable GOGC set the collector is as that says; GOMEMLIMIT holds in any case.

Without --listen it listens on TCP port ` + strconv.Itoa(defaultPort) + ` of every address, or on any free
port if that one is taken.

Exit status: 0 all was finished after a signal, 6 something was cut off,
1 anything else.`,
		Example: `  arke relay --dev
  arke relay --key-file home.key
  arke relay --key-file home.key --seed relay-1.example:7400 --data-dir /var/lib/arke`,
		Args: positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runRelay(cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.keyFile, "key-file", "", "the network file, made by 'arke keygen'")
	f.StringArrayVar(&flags.listen, "listen", nil, "`MULTIADDR` to listen on, like /ip4/0.0.0.0/tcp/7400; may be repeated")
	f.StringArrayVar(&flags.advertise, "advertise", nil, "`MULTIADDR` others reach this relay at, where it differs; may be repeated")
	f.StringArrayVar(&flags.seeds, "seed", nil, "`ADDR` of a node of the network, a multiaddr or HOST:PORT; may be repeated")
	f.StringVar(&flags.socket, "socket", "", "unix socket for programs (default $ARKE_SOCKET, else in the user's runtime directory)")
	f.StringVar(&flags.clientListen, "client-listen", "", "also accept programs on this loopback `HOST:PORT`; needs --token")
	f.StringVar(&flags.token, "token", "", "what programs must show at --client-listen (default $ARKE_TOKEN)")
	f.StringVar(&flags.dataDir, "data-dir", "", "directory for the node's key and its remembered peers")
	f.StringVar(&flags.zone, "zone", "", "where this relay is; callers prefer members of their own zone")
	f.BoolVar(&flags.noMDNS, "no-mdns", false, "do not look for peers on the local network")
	f.BoolVar(&flags.dev, "dev", false, "try it out: a new network of its own, loopback only, no mDNS")
	f.StringVar(&flags.logLevel, "log-level", "info", logLevelHelp)
	return cmd
}

func (a App) runRelay(cmd *cobra.Command, flags relayFlags) error {
	log, err := a.logger(flags.logLevel)
	if err != nil {
		return misuse(cmd, err)
	}
	if flags.clientListen != "" {
		flags.token = a.Env.token(flags.token)
	}
	if err := flags.validate(); err != nil {
		return misuse(cmd, err)
	}
	network, err := a.network(flags)
	if err != nil {
		return err
	}
	flags.socket = a.Env.socket(flags.socket)
	p2p.RouteLogs(log)
	outliveReaders()
	return a.serveRelay(cmd.Context(), network, flags.withDefaults(), log)
}

// validate checks what no layer below can name as well.
func (f relayFlags) validate() error {
	if (f.clientListen == "") != (f.token == "") {
		return errors.New("--client-listen and --token go together")
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

// withDefaults fills in where to listen.
func (f relayFlags) withDefaults() relayFlags {
	f.noMDNS = f.noMDNS || f.dev
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
func (a App) network(flags relayFlags) (security.NetworkFile, error) {
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

func (a App) serveRelay(ctx context.Context, network security.NetworkFile, flags relayFlags, log *zap.Logger) error {
	if a.Env.GOGC == "" {
		defer collector.Pace()()
	}
	n, err := node.New(node.Config{
		Network:   network,
		Listen:    flags.listen,
		Advertise: flags.advertise,
		Seeds:     flags.seeds,
		DataDir:   flags.dataDir,
		Zone:      flags.zone,
		NoMDNS:    flags.noMDNS,
		Logger:    log,
	})
	if err != nil {
		return err
	}
	defer n.Close()
	r, err := relay.New(relay.Config{
		Node:   n,
		Status: func() any { return n.Status() },
		Peer:   n.Self().String(),
		Socket: flags.socket,
		Listen: flags.clientListen,
		Token:  flags.token,
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
	if err := a.announce(n, flags.socket); err != nil {
		return err
	}

	<-ctx.Done()
	drain, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	if err := errors.Join(r.Shutdown(drain), n.Shutdown(drain)); err != nil {
		return fmt.Errorf("some of what was under way was cut off: %w", err)
	}
	return nil
}

// announce prints the line that scripts wait for.
func (a App) announce(n *node.Node, socket string) error {
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
