// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/runner"
)

// Exit statuses of the simulator.
const (
	simFailed  = 10 // an assertion does not hold, or a checker found something
	simFile    = 11 // a scenario or a replay file makes no sense
	simLevel   = 12 // not possible at this level, or on this machine
	simDiffers = 13 // two runs differ that should not, or were compared
)

// sims are the simulator's commands with what they need to run; tests put
// something else in its place.
type sims struct {
	App
	execute runner.Executor
	compare runner.Comparer
}

func (a App) sim() *cobra.Command {
	process := runner.Process{Command: []string{a.Executable, "sim", "child"}}
	return sims{App: a, execute: process.Run, compare: process.Compare}.command()
}

func (s sims) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Try out what happens when nodes and links fail",
		Long: `Try out what happens when nodes and links fail.

A scenario is a file that describes a network, what is done to it, what is
asked of it, and what must hold; 'arke sim format' explains it, 'arke sim
list' names those that come with the program. It runs at one of three levels:

  sim    Arke's own code on a simulated network in virtual time: the same
         seed gives the same run, event by event
  stack  real libp2p hosts in virtual time
  net    real relays, real links, real time (Linux; takes root and /dev/net/tun)

Exit status: 0 everything held, 10 an assertion does not hold or a checker
found something, 11 a file makes no sense, 12 not possible at this level or on
this machine, 13 two runs differ, 1 anything else.`,
		Example: `  arke sim run member-crash
  arke sim run my-scenario.yaml --seeds 1..20 --out results`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse(cmd, errors.New("unknown command \""+args[0]+"\""))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(s.run(), s.replay(), s.shrink(), s.diff(), s.explain(), s.list(), s.format(), s.child())
	return cmd
}

// child is what a simulation's own process runs.
func (s sims) child() *cobra.Command {
	return &cobra.Command{
		Use:    "child",
		Short:  "Carry out one job of arke sim",
		Hidden: true,
		Args:   positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code := runner.ChildMain(cmd.Context(), s.Stdin); code != 0 {
				return &statusError{code: code, text: "sim child: no job was carried out"}
			}
			return nil
		},
	}
}

// simError gives the errors of package runner their exit statuses.
func simError(err error) error {
	var status *statusError
	var child *runner.ChildError
	text := func() string { return strings.TrimPrefix(err.Error(), "runner: ") }
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.As(err, &status):
		return err
	case errors.Is(err, runner.ErrScenario):
		return &statusError{code: simFile, text: text() + "\nsee 'arke sim format'"}
	case errors.Is(err, runner.ErrLevel):
		return &statusError{code: simLevel, text: text()}
	case errors.As(err, &child) && child.Crashed:
		return &statusError{code: simFailed, text: text()}
	}
	return &statusError{code: 1, text: text()}
}
