// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

// gatewayFile is the configuration of a gateway: flags, as every command has them, and
// two kinds of sections.
type gatewayFile struct {
	name         string
	settings     *settings.Settings
	drainTimeout time.Duration
	log          logFlags
	admin        adminFlags
	networks     []networkSection
	crossings    []gateway.Crossing
	where        []string // of each crossing
	topics       lentTopics
}

// networkSection is one network that the gateway belongs to.
type networkSection struct {
	nodeFlags
	label string // what the gateway calls it
	where string
}

// declare adds the flags that stand for the file's own keys, and the one that names it.
func (c *gatewayFile) declare(f *pflag.FlagSet) {
	f.StringVar(&c.name, "config", "", "the configuration `FILE`, in YAML")
	settings.FlagOnly(f, "config")
	declareDrain(f, &c.drainTimeout)
	c.log.declare(f)
	c.admin.declare(f)
}

// declareOn adds the flags to a command, which does not run without a file.
func (c *gatewayFile) declareOn(cmd *cobra.Command) {
	c.declare(cmd.Flags())
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if c.name == "" {
			return misuse(cmd, errors.New("which configuration? pass --config FILE"))
		}
		return nil
	}
}

// readKeys reads the network's file and those of clusters.
func (n *networkSection) readKeys() (keys node.Keys, err error) {
	if n.keyFile == "" {
		return keys, errors.New("it has no key-file: that is made by 'arke keygen', or a copy of the network's")
	}
	if keys.Network, err = n.readNetwork(); err == nil {
		keys.Clusters, err = n.readClusterKeys()
	}
	return keys, err
}

// node is what the section says about the gateway's node, with the files that it names.
func (n *networkSection) node(log *zap.Logger) (node.Config, error) {
	keys, err := n.readKeys()
	cfg := n.nodeConfig(keys)
	cfg.Logger = log.With(zap.String("network", n.label))
	if err == nil {
		err = n.certificates.read(&cfg)
	}
	return cfg, err
}

// reload reads the keys, bans, certificate and revocations again, for the node that
// runs. What makes no sense changes nothing.
func (n *networkSection) reload(running *node.Node, log *zap.Logger) {
	log = log.With(zap.String("network", n.label))
	keys, err := n.readKeys()
	if err == nil {
		err = running.SetKeys(keys)
	}
	if err != nil {
		log.Error("the keys can't be used, so the old ones still hold", zap.Error(err))
	}
	if n.certificates.any() {
		n.certificates.reload(running, log)
	}
}

// declareCrossing names the keys of a crossing.
func declareCrossing(f *pflag.FlagSet, c *gateway.Crossing) {
	f.StringVar(&c.Cluster, "cluster", "", "")
	f.StringVar(&c.From, "from", "", "")
	f.StringVar(&c.To, "to", "", "")
	f.StringVar(&c.As, "as", "", "")
	f.IntVar(&c.Priority, "priority", 0, "")
	f.BoolVar(&c.Transit, "transit", false, "")
	f.BoolVar(&c.Reseal, "reseal", false, "")
	f.Var(findingFlag{&c.Finding}, "finding-key-file", "")
	f.IntVar(&c.Limits.Messages, "messages-per-second", 0, "")
	f.IntVar(&c.Limits.Bytes, "bytes-per-second", 0, "")
	f.IntVar(&c.Limits.InFlight, "in-flight", 0, "")
	f.IntVar(&c.Limits.Tunnels, "tunnels", 0, "")
}

// findingFlag reads the finding keys in a file.
type findingFlag struct{ keys **security.FindingFile }

func (f findingFlag) String() string { return "" }
func (f findingFlag) Type() string   { return "file" }

func (f findingFlag) Set(name string) error {
	keys, err := security.ReadFindingFile(name)
	if err == nil {
		*f.keys = &keys
	}
	return err
}

// read reads the file. flags are those of the command, which stand above the file. Its
// error has all that is wrong with the file's form.
func (c *gatewayFile) read(flags *pflag.FlagSet) error {
	file, err := settings.Read(c.name)
	if err != nil {
		return err
	}
	var problems settings.Problems
	note := func(err error) {
		var several settings.Problems
		if errors.As(err, &several) {
			problems = append(problems, several...)
		} else if err != nil {
			problems = append(problems, settings.Problem{Where: c.name, Reason: err.Error()})
		}
	}
	sections, err := file.Sections("networks", "lend")
	note(err)
	c.settings, err = settings.Resolve(flags, nil, file)
	note(err)
	for _, s := range sections["networks"] {
		n := networkSection{label: s.Label, where: s.At()}
		note(resolveSection(s, n.declare))
		c.networks = append(c.networks, n)
	}
	slices.SortStableFunc(c.networks, func(a, b networkSection) int { return strings.Compare(a.label, b.label) })
	for _, s := range sections["lend"] {
		var x gateway.Crossing
		cluster, err := c.topics.read(s, &x)
		note(err)
		if cluster {
			c.crossings, c.where = append(c.crossings, x), append(c.where, s.At())
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// again reads the file once more. What the command line gave stands above it, as before.
func (c *gatewayFile) again() (*gatewayFile, error) {
	now, f := new(gatewayFile), pflag.NewFlagSet("gateway", pflag.ContinueOnError)
	now.declare(f)
	if err := c.settings.Repeat(f); err != nil {
		return nil, err
	}
	now.name = c.name
	if err := now.read(f); err != nil {
		return nil, err
	}
	_, err := now.log.parse()
	return now, err
}

// resolveSection sets what a section says.
func resolveSection(s settings.Section, declare func(*pflag.FlagSet)) error {
	f := pflag.NewFlagSet("section", pflag.ContinueOnError)
	declare(f)
	_, err := settings.Resolve(f, nil, s.File)
	return err
}

// config is what the file says, with the network files that it names. With an error a
// network whose file can't be read has its name only.
func (c *gatewayFile) config(log *zap.Logger) (gateway.Config, error) {
	out := gateway.Config{Crossings: c.crossings, Topics: c.topics.all, Logger: log}
	var faults []error
	for i := range c.networks {
		n := &c.networks[i]
		cfg, err := n.node(log)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: network %s: %w", n.where, n.label, err))
		}
		out.Networks = append(out.Networks, gateway.Network{Name: n.label, Node: cfg})
	}
	return out, errors.Join(faults...)
}
