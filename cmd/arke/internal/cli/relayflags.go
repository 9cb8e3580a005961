// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

// relayFlags are what the user asked for.
type relayFlags struct {
	nodeFlags
	socket       string
	clientListen string
	guests       guestFlags
	admin        adminFlags
	limits       relay.Limits
	dev          bool
	drainTimeout time.Duration
	log          logFlags
	config       string
}

// declare adds the flags of arke relay. Each is a setting, too: a key of the
// configuration file and a variable. Those marked by settings.Reloads take effect
// on SIGHUP.
func (flags *relayFlags) declare(f *pflag.FlagSet) {
	flags.nodeFlags.declare(f)
	f.StringVar(&flags.socket, "socket", "", "unix socket for programs (default $ARKE_SOCKET, else in the user's runtime directory)")
	f.StringVar(&flags.clientListen, "client-listen", "", "also accept programs on this loopback `HOST:PORT`; needs --token-file or $ARKE_TOKEN")
	flags.guests.declare(f)
	flags.limits = relay.DefaultLimits()
	for _, l := range flags.limits.Flags() {
		f.IntVar(l.Value, l.Name, *l.Value, l.Usage)
	}
	f.BoolVar(&flags.dev, "dev", false, "try it out: a new network of its own, loopback only, no mDNS")
	flags.admin.declare(f)
	declareDrain(f, &flags.drainTimeout)
	flags.log.declare(f)
	f.StringVar(&flags.config, "config", "", "the configuration `FILE`: YAML, whose keys are named as the flags (default $ARKE_CONFIG)")
	settings.FlagOnly(f, "config")
	settings.Reloads(f, "log-level", "drain-timeout", "seed", "max-clients", "policy")
}

// resolve sets the flags that were not given, to what the environment and the
// configuration file say.
func (flags *relayFlags) resolve(a App, f *pflag.FlagSet) (*settings.Settings, error) {
	var file settings.File
	for _, kv := range a.Environ {
		if name, value, _ := strings.Cut(kv, "="); name == settings.Variable("config") {
			flags.config = cmp.Or(flags.config, value)
		}
	}
	if flags.config != "" {
		var err error
		if file, err = settings.Read(flags.config); err != nil {
			return nil, err
		}
	}
	return settings.Resolve(f, a.Environ, file)
}

// validate checks what no layer below can name as well. A variable ARKE_TOKEN_FILE
// may be meant for other commands.
func (f relayFlags) validate(set *settings.Settings) error {
	if f.clientListen == "" && len(f.guests.tokenFiles) > 0 && set.Origin("token-file").Source != settings.FromEnvironment {
		return errors.New("--token-file goes with --client-listen")
	}
	if f.admin.address == "" && f.admin.token != "" {
		return errors.New("--admin-token-file goes with --admin")
	}
	if f.dev && f.keyFile != "" {
		return errors.New("--dev makes a new network, --key-file names one: choose one of them")
	}
	if f.drainTimeout < 0 {
		return fmt.Errorf("--drain-timeout %s is negative", f.drainTimeout)
	}
	for _, l := range f.limits.Flags() {
		if *l.Value < 1 || *l.Value > math.MaxInt32 {
			return fmt.Errorf("--%s %d is not between 1 and %d", l.Name, *l.Value, math.MaxInt32)
		}
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

// addressFaults are what is wrong with the addresses of nodes.
func (f relayFlags) addressFaults() (faults []error) {
	for _, list := range []struct {
		flag   string
		values []string
		check  func(string) error
	}{{"listen", f.listen, p2p.CheckListen}, {"advertise", f.advertise, p2p.CheckAdvertised}, {"seed", f.seeds, p2p.CheckSeed}} {
		for _, value := range list.values {
			if err := list.check(value); value != "" && err != nil { // validate tells of empty ones
				faults = append(faults, fmt.Errorf("--%s: %s", list.flag, strings.TrimPrefix(err.Error(), p2p.ErrBadAddress.Error()+": ")))
			}
		}
	}
	return faults
}

// readGuests reads whose programs the relay takes.
func (f relayFlags) readGuests(env string) (guests, error) {
	if f.clientListen == "" {
		env = ""
	}
	g, err := f.guests.read(env)
	if err == nil && f.clientListen != "" && len(g.tokens) == 0 {
		err = errors.New("--client-listen needs --token-file FILE or ARKE_TOKEN: every user of this machine can reach the port")
	}
	return g, err
}

// maxNodeName is how many bytes the name of a relay has at most.
const maxNodeName = 64

// fillIn says where to listen and what the relay is called, if nothing else did.
func (f *relayFlags) fillIn(a App, log *zap.Logger) {
	f.socket = a.Env.socket(f.socket)
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
		var port int
		if f.listen, port = defaultListen(); port != defaultPort {
			log.Warn(fmt.Sprintf("port %d is taken, so this relay listens on another one: give it one with --listen", defaultPort), zap.Int("port", port))
		}
	}
}

// network returns the network file that the flags or the environment name.
func network(a App, flags relayFlags) (security.NetworkFile, error) {
	switch {
	case flags.keyFile != "":
		return flags.readNetwork()
	case flags.dev:
		return security.GenerateNetworkFile("dev", rand.Reader)
	case a.Env.Network != "":
		file, err := security.ParseNetworkFile([]byte(a.Env.Network))
		if err != nil && !strings.Contains(strings.TrimSpace(a.Env.Network), "\n") {
			return file, errors.New(`ARKE_NETWORK is not the content of a key file, which has several lines: ARKE_NETWORK="$(cat FILE)" keeps them`)
		}
		if err != nil {
			return file, fmt.Errorf("ARKE_NETWORK: %w", err)
		}
		return file, nil
	}
	return security.NetworkFile{}, errors.New("which network? make a key with 'arke keygen --out FILE' and pass --key-file FILE, or try --dev")
}
