// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand(a App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [COMMAND]...",
		Short: "Print the manual page of a command, or write all of them",
		Long: `Print the manual page of a command, for man(1). With --out, write those of all
commands into a directory, as arke-COMMAND.1.`,
		Example: `  arke man request | man -l -
  arke man --out /usr/local/share/man/man1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil || len(rest) > 0:
				return subcommand(cmd.Root(), args)
			case dir != "" && len(args) > 0:
				return misuse(cmd, fmt.Errorf("choose one of COMMAND and --out"))
			case dir != "":
				return writePages(cmd.Root(), dir)
			}
			_, err = a.Stdout.Write(page(of))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "out", "", "the `DIR`ectory to write all pages to")
	return cmd
}

// writePages writes the page of a command, and those of the commands below it.
func writePages(cmd *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), page(cmd), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if sub.Hidden {
			continue
		}
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// pageName is what man is asked for.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page writes the manual page of a command.
func page(cmd *cobra.Command) []byte {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" Arke\n", strings.ToUpper(roff(pageName(cmd))))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	writeText(&b, cmp.Or(cmd.Long, cmd.Short+"."))
	writeFlags(&b, cmd)
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		writeText(&b, cmd.Example)
	}
	writeSeeAlso(&b, cmd)
	return []byte(b.String())
}

// writeText writes paragraphs; those that are indented keep their lines.
func writeText(b *strings.Builder, text string) {
	for _, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		b.WriteString(".PP\n")
		indented := strings.HasPrefix(paragraph, " ")
		if indented {
			b.WriteString(".nf\n.RS\n")
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			if indented {
				line = strings.TrimPrefix(line, "  ")
			}
			b.WriteString(roff(line) + "\n")
		}
		if indented {
			b.WriteString(".RE\n.fi\n")
		}
	}
}

func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	b.WriteString(".SH OPTIONS\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, says := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(b, "\n%s\n", roff(says))
	})
}

func writeSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var others []string
	if cmd.HasParent() {
		others = append(others, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			others = append(others, pageName(sub))
		}
	}
	for i, name := range others {
		others[i] = "\\fB" + roff(name) + "\\fR(1)"
	}
	if len(others) > 0 {
		fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(others, ",\n"))
	}
}

// roff writes a line of text so that the formatter takes none of it for its own.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
