// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
)

func configCommand(a App) *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Check or show how 'arke relay' would be configured",
		Long: `Check or show how 'arke relay' would be configured by a file, the environment, and
flags. Both commands take the flags of 'arke relay'.`,
		Example: `  arke config check --config /etc/arke/relay.yaml`,
	}, configCheckCommand(a), configShowCommand(a))
}

func configCheckCommand(a App) *cobra.Command {
	var flags relayFlags
	cmd := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Say what is wrong with a relay's configuration",
		Long: `Say what is wrong with a relay's configuration: all of it, one problem a line. The
command reads the files that the configuration names, and starts nothing.
Variables that begin with ARKE_ and mean nothing are told on standard error.

` + exits("all is in order"),
		Example: `  arke config check --config /etc/arke/relay.yaml`,
	}
	flags.declare(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, s := range settings.Stray(cmd.Flags(), a.Environ, otherVariables()...) {
			fmt.Fprintf(a.Stderr, "arke: warning: %s\n", s)
		}
		return tellProblems(a, flags.check(a, cmd), "the configuration is in order")
	}
	return cmd
}

// tellProblems prints what is wrong with a configuration, one problem a line, or that
// nothing is.
func tellProblems(a App, problems []string, inOrder string) error {
	for _, p := range problems {
		fmt.Fprintln(a.Stdout, p)
	}
	if len(problems) > 0 {
		return ended(patterns.OutcomeOther, "the configuration has %s", plural.Of(len(problems), "problem"))
	}
	_, err := fmt.Fprintln(a.Stdout, inOrder)
	return err
}

// otherVariables are those that are no flags of arke relay.
func otherVariables() []string {
	all := []string{"ARKE_TOKEN", "ARKE_NETWORK", "ARKE_CONFIG"}
	for _, flag := range shared() {
		all = append(all, settings.Variable(flag))
	}
	return all
}

// check returns all that arke relay would refuse before it starts, one line each.
func (flags *relayFlags) check(a App, cmd *cobra.Command) (problems []string) {
	add := func(err error) { problems = append(problems, linesOf(err)...) }
	set, err := flags.resolve(a, cmd.Flags())
	add(err)
	if set == nil {
		return problems // there is nothing to look at
	}
	add(flags.validate(set))
	for _, fault := range flags.addressFaults() {
		add(fault)
	}
	add(node.CheckDataDir(flags.dataDir))
	_, err = flags.log.parse()
	add(err)
	_, err = flags.admin.config()
	add(err)
	guests, err := flags.readGuests(a.Env.Token)
	add(err)
	network, missing := network(a, *flags)
	add(missing)
	if missing == nil {
		keys, err := flags.readClusterKeys()
		add(err)
		if err := flags.nodeConfig(node.Keys{Network: network, Clusters: keys}).Check(); !errors.Is(err, p2p.ErrBadAddress) { // those are told
			add(err)
		}
	}
	if err == nil {
		of := flags.relayConfig(guests)
		of.Socket = a.Env.socket(flags.socket)
		add(of.Check())
	}
	return problems
}

func configShowCommand(a App) *cobra.Command {
	var flags relayFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [--config FILE]",
		Short: "Show every setting of a relay, and where it comes from",
		Long: `Show every setting of a relay, and where it comes from. The output is itself a
configuration file. What says "reloads" behind it can change on SIGHUP.

Secrets are never shown.

` + exits("the configuration could be read"),
		Example: `  arke config show --config /etc/arke/relay.yaml
  ARKE_LOG_LEVEL=debug arke config show --json | jq 'select(.from != "default")'`,
	}
	flags.declare(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per setting")
	settings.FlagOnly(cmd.Flags(), "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		set, err := flags.resolve(a, cmd.Flags())
		if err != nil {
			return err
		}
		return showSettings(a, set.All(), asJSON)
	}
	return cmd
}

// settingJSON is one setting.
type settingJSON struct {
	Key     string `json:"key"`
	Value   any    `json:"value"` // a string, or a list of them
	From    string `json:"from"`  // default, file, environment, or flag
	Where   string `json:"where"` // which one, and its line
	Reloads bool   `json:"reloads"`
}

func showSettings(a App, all []settings.Value, asJSON bool) error {
	for _, v := range all {
		o := settingJSON{Key: v.Key, Value: v.Values, From: v.Origin.Source.String(), Where: v.Origin.Where, Reloads: v.Reloads}
		if !v.List {
			o.Value = v.Values[0]
		}
		text, err := settingLine(v)
		if err == nil {
			err = printAs(a.Stdout, asJSON, o, "%s\n", text)
		}
		if err != nil {
			return err
		}
	}
	for _, secret := range []struct{ name, value string }{{"ARKE_NETWORK", a.Env.Network}, {"ARKE_TOKEN", a.Env.Token}} {
		if secret.value != "" && !asJSON {
			fmt.Fprintf(a.Stdout, "# the variable %s is set: [redacted]\n", secret.name)
		}
	}
	return nil
}

// settingLine writes a setting as a line of a configuration file. One whose
// default stands for something that only the start decides is
// a comment.
func settingLine(v settings.Value) (string, error) {
	var value any = v.Values
	if !v.List {
		value = scalar(v.Values[0])
	}
	node := yaml.Node{}
	if err := node.Encode(value); err != nil {
		return "", err
	}
	node.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&node)
	if err != nil {
		return "", err
	}
	line := v.Key + ": " + strings.TrimSpace(string(text))
	if len(v.Values) == 0 || v.Values[0] == "" {
		line = "# " + line
	}
	line += "  # " + v.Origin.Where
	if v.Reloads {
		line += ", reloads"
	}
	return line, nil
}

// scalar returns the text as what it is in YAML, so that a number has no quotes.
func scalar(text string) any {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err == nil {
		switch v.(type) {
		case bool, int:
			return v
		}
	}
	return text
}
