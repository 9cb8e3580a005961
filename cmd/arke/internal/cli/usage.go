// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/internal/nearest"
	"github.com/arke-mesh/arke/internal/plural"
)

// usageError says that the arguments make no sense.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string {
	return fmt.Sprintf("%v: see '%s --help'", e.err, e.command)
}

func (e *usageError) Unwrap() error { return e.err }

// misuse marks err as wrong usage of cmd.
func misuse(cmd *cobra.Command, err error) error {
	return &usageError{command: cmd.CommandPath(), err: err}
}

// group makes a command of what only has subcommands.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.Args = subcommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	add(cmd, subs...)
	return cmd
}

// add adds subcommands. One that does not say what arguments it takes, takes none.
func add(cmd *cobra.Command, subs ...*cobra.Command) {
	for _, sub := range subs {
		if sub.Args == nil {
			sub.Args = positional(0, 0)
		}
	}
	cmd.AddCommand(subs...)
}

// subcommand refuses the arguments of a command that only has subcommands.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := nearest.Hint(args[0], subcommands(cmd), "'"+cmd.CommandPath()+" %s'")
	return misuse(cmd, fmt.Errorf("unknown command %q%s", args[0], hint))
}

func subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// badFlag says what is wrong with a flag, and which one may have been meant.
func badFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return misuse(cmd, err)
	}
	if before := cmd.Flags().Args(); cmd.HasSubCommands() && len(before) > 0 {
		return subcommand(cmd, before) // the flag is one of the command that was meant
	}
	name, said := unknown.GetSpecifiedName(), "unknown flag --"
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		name, said = letters, "unknown flag -"
	}
	said += name + nearest.Hint(name, flagNames(cmd), "--%s")
	if strings.Contains(cmd.Use, "BODY") {
		said += " (text that begins with - goes after --)"
	}
	return misuse(cmd, errors.New(said))
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// negativeNumber is what looks like a flag and is none.
var negativeNumber = regexp.MustCompile(`^-\.?[0-9]`)

// separated puts the arguments of a command after "--" if a negative number is
// among them, so that arke publish sea.level -5 needs no "--" of the user's.
func separated(root *cobra.Command, args []string) []string {
	if !slices.ContainsFunc(args, negativeNumber.MatchString) {
		return args
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		return args
	}
	flags, words := strings.Fields(cmd.CommandPath())[1:], []string{"--"}
	for i := 0; i < len(rest); i++ {
		s := rest[i]
		switch {
		case s == "--":
			return slices.Concat(flags, words, rest[i+1:])
		case s == "-", !strings.HasPrefix(s, "-"), negativeNumber.MatchString(s):
			words = append(words, s)
		default:
			flags = append(flags, s)
			f := cmd.Flags().Lookup(strings.TrimLeft(s, "-"))
			if f != nil && f.NoOptDefVal == "" && i+1 < len(rest) {
				i++
				flags = append(flags, rest[i])
			}
		}
	}
	return append(flags, words...)
}

// wantsJSON reports whether the arguments, which may make no sense, ask for
// JSON.
func wantsJSON(args []string) bool {
	for _, s := range args {
		switch s {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// positive returns an error if one of the flags, which are numbers, is given and
// is not greater than zero: the zero that stands for a default is not for users.
func positive(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if n, err := strconv.ParseFloat(f.Value.String(), 64); f.Changed && (err != nil || !(n > 0)) {
			return fmt.Errorf("--%s must be greater than 0", name)
		}
	}
	return nil
}

// maxName bounds the name of a cluster.
const maxName = 255

// calling checks the arguments of a command the first of which is a cluster.
func calling(most int) cobra.PositionalArgs {
	number := positional(1, most, "CLUSTER")
	return func(cmd *cobra.Command, args []string) error {
		if err := number(cmd, args); err != nil {
			return err
		}
		if n := len(args[0]); n < 1 || n > maxName {
			return misuse(cmd, fmt.Errorf("CLUSTER has %s: a name has 1 to %d", plural.Of(n, "byte"), maxName))
		}
		return nil
	}
}

// positional checks the number of arguments and names, in the error, those that
// are missing.
func positional(least, most int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misuse(cmd, errors.New("missing "+strings.Join(names[len(args):], " and ")))
		case len(args) > most:
			return misuse(cmd, fmt.Errorf("unexpected argument %q", args[most]))
		}
		return nil
	}
}
