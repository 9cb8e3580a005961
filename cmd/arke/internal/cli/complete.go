// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/sim/scenarios"
)

func completionCommand(a App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use:   "completion (bash | zsh | fish | powershell)",
		Short: "Print the script that completes commands in a shell",
		Long: `Print the script that completes commands, flags, and the names of clusters in a
shell. Names are those that the relay on this machine serves or calls now.`,
		Example: `  arke completion bash >/etc/bash_completion.d/arke
  arke completion zsh >"${fpath[1]}/_arke"
  arke completion fish >~/.config/fish/completions/arke.fish`,
		Args:      positional(1, 1, "SHELL: bash, zsh, fish, or powershell"),
		ValidArgs: shells,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(a.Stdout, true)
		case "zsh":
			return root.GenZshCompletion(a.Stdout)
		case "fish":
			return root.GenFishCompletion(a.Stdout, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(a.Stdout)
		}
		return misuse(cmd, fmt.Errorf("no script for %q: choose one of %s", args[0], strings.Join(shells, ", ")))
	}
	return cmd
}

// completionTime bounds how long a user who pressed Tab waits for the relay.
const completionTime = 500 * time.Millisecond

// completeCluster offers the clusters that the relay knows.
func (t *attachment) completeCluster(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault // a file, after @
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	var names []string
	_ = t.within(ctx, completionTime, func(ctx context.Context, c *client.Client) (err error) {
		names, err = knownClusters(ctx, c)
		return err
	}) // without a relay there is nothing to offer
	return names, cobra.ShellCompDirectiveNoFileComp
}

// knownClusters returns the clusters that programs of this relay serve or call.
func knownClusters(ctx context.Context, c *client.Client) ([]string, error) {
	raw, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	var s relayStatus
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, q := range s.Queues {
		known[q.Cluster] = true
	}
	for _, w := range s.Watches {
		known[w.Cluster] = true
	}
	for _, c := range s.Relay.Clients {
		for _, name := range c.Clusters {
			known[name] = true
		}
	}
	maps.DeleteFunc(known, func(known string, _ bool) bool {
		return strings.HasPrefix(known, pubsub.Prefix) || strings.HasPrefix(known, "$") // Arke's own
	})
	return slices.Sorted(maps.Keys(known)), nil
}

// completeScenario offers the scenarios that come with the program, and files.
func completeScenario(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}
