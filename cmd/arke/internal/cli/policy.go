// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/policy"
)

// policyFlags say who asks.
type policyFlags struct {
	user   string
	groups []string
	token  string
}

func policyCommand(a App) *cobra.Command {
	var flags policyFlags
	cmd := &cobra.Command{
		Use:   "policy FILE [VERB NAME]",
		Short: "Check a relay's policy, or query a decision",
		Long: `Check a relay's policy, or query a decision. A policy is a file with one
rule a line. What no rule allows is refused:

  # who        may  verbs            names
  user alice   may  serve, call      billing billing.>
  group ops    may  call             $status $members
  token ci     may  publish          build.*.done
  anyone       may  call, subscribe  news.>

The verbs are serve, call (requests, surveys, pushes, broadcasts, tunnels, and the
list of members), publish, and subscribe. In a name * stands for one word, and > at
the end for the rest, but neither for $status or $members. 'arke relay --policy FILE'
enforces the policy, and reloads it on SIGHUP.

` + exits("the policy makes sense, and allows it", end{patterns.OutcomeUnauthorized, "it does not allow it"}),
		Example: `  arke policy /etc/arke/policy
  arke policy /etc/arke/policy --user alice call billing.eu`,
		Args: positional(1, 3, "FILE"),
	}
	f := cmd.Flags()
	f.StringVar(&flags.user, "user", "", "the `USER` of the program, with all of its groups")
	f.StringArrayVar(&flags.groups, "group", nil, "a `GROUP` of the program, instead of the user's; may be repeated")
	f.StringVar(&flags.token, "token", "", "the `NAME` of the token that was proven")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := readPolicy(args[0])
		switch {
		case err != nil:
			return err
		case len(args) == 1:
			_, err := fmt.Fprintf(a.Stdout, "%s: %s\n", args[0], plural.Of(p.Len(), "rule"))
			return err
		case len(args) == 2:
			return misuse(cmd, errors.New("missing NAME"))
		}
		who, err := flags.client()
		if err != nil {
			return misuse(cmd, err)
		}
		v, err := verb.Parse(args[1])
		if err != nil {
			return misuse(cmd, err)
		}
		d := p.Of(who).Decide(v, args[2])
		if !d.Allowed {
			return ended(patterns.OutcomeUnauthorized, "%s", d)
		}
		_, err = fmt.Fprintln(a.Stdout, d)
		return err
	}
	return cmd
}

// client is who asks.
func (p policyFlags) client() (policy.Client, error) {
	who := policy.Client{Token: p.token, Known: p.user != "" || len(p.groups) > 0, User: -1}
	var names machine
	var err error
	if who.Groups, err = ids(p.groups, names.Group); err != nil || p.user == "" {
		return who, err
	}
	if who.User, err = names.User(p.user); err != nil || len(p.groups) > 0 {
		return who, err
	}
	u, err := user.LookupId(strconv.Itoa(who.User))
	if err != nil {
		return who, nil // a number without a name has no groups here
	}
	ids, err := u.GroupIds()
	if err != nil {
		return who, fmt.Errorf("the groups of %s: %w: name them with --group", p.user, err)
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			who.Groups = append(who.Groups, n)
		}
	}
	return who, nil
}
