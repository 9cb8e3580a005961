// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/demo"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/runner"
)

func keygenCommand(a App) *cobra.Command {
	var name, cluster, finding, out string
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a network file, which admits nodes, or a key file of one cluster",
		Long: `Make a network file with a new network id and a new random key.

Whoever holds the file can join the network, so treat it as a secret. With
--out it gets the mode 0600. A relay reads only a file that belongs to its own
user or to root, with the mode 0600 or 0400, or 0440 if the group is one of the
relay's. Without --out the file goes to standard output.

With --cluster it is the key file of one cluster: only its holders can serve
the cluster, call it, or read its messages. Members and callers name it
with --cluster-key-file. A cluster topic:NAME is all topics whose first word is
NAME.

With --finding-key-of it is the finding key of a cluster that has a key file: a gateway
that holds it finds the members and lends them to another network, and can't call, serve
or read the cluster. Make a new one when the key file has changed.`,
		Example: `  arke keygen --network home --out home.key
  arke keygen --cluster vault --out vault.key
  arke keygen --finding-key-of vault.key --out vault.finding
  ARKE_NETWORK="$(arke keygen)" arke relay`,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case cluster != "":
				return runClusterKeygen(a, cluster, out)
			case finding != "":
				return runFindingKeygen(a, finding, out)
			}
			return runKeygen(a, name, out)
		},
	}
	cmd.Flags().StringVar(&name, "network", "arke", "the network's name, for people")
	cmd.Flags().StringVar(&cluster, "cluster", "", "make keys of the cluster of this name, instead of a network")
	cmd.Flags().StringVar(&finding, "finding-key-of", "", "derive the finding key from this key `FILE` of a cluster")
	cmd.MarkFlagsMutuallyExclusive("network", "cluster", "finding-key-of")
	cmd.Flags().StringVar(&out, "out", "", "file to create; it must not exist (default standard output)")
	return cmd
}

func runKeygen(a App, name, out string) error {
	file, err := security.GenerateNetworkFile(name, rand.Reader)
	if err != nil {
		return err
	}
	return writeKeys(a, out, file, security.WriteNetworkFile, fmt.Sprintf("key of the new network %s (id %s)", file.Name, file.ID))
}

func runClusterKeygen(a App, cluster, out string) error {
	file, err := security.GenerateClusterFile(cluster, rand.Reader)
	if err != nil {
		return err
	}
	return writeKeys(a, out, file, security.WriteClusterFile, fmt.Sprintf("key of the cluster %s (id %s)", file.Name, security.KeySetID(file.Name, file.Keys)))
}

func runFindingKeygen(a App, of, out string) error {
	keys, err := security.ReadClusterFile(of)
	if err != nil {
		return err
	}
	file := keys.Finding()
	return writeKeys(a, out, file, security.WriteFindingFile, "finding key of the cluster "+file.Name)
}

// writeKeys writes a new file of keys and says what it is, or prints the file itself.
func writeKeys[F interface{ Encode() []byte }](a App, out string, file F, write func(string, F) error, what string) error {
	if out == "" || out == "-" {
		_, err := a.Stdout.Write(file.Encode())
		return err
	}
	if err := write(out, file); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "%s: %s\n", out, what)
	return err
}

func versionCommand(a App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  arke version --json",
		RunE: func(*cobra.Command, []string) error {
			return printVersion(a.Stdout, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printVersion(w io.Writer, asJSON bool) error {
	v := struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Go       string `json:"go"`
	}{Version: "unknown", Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v.Version = info.Main.Version; v.Version == "(devel)" {
			v.Version = "development build"
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	v.Revision = cmp.Or(v.Revision, runner.Commit())
	return printAs(w, asJSON, v, "arke %s, commit %s, %s\n", v.Version, cmp.Or(v.Revision, "unknown"), v.Go)
}

func demoCommand(a App) *cobra.Command {
	cfg := demo.Config{Executable: a.Executable, Progress: a.Stderr}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a network at work while one of its relays is killed",
		Long: `Watch a network at work while one of its relays is killed.

Three relays, three members that answer questions about the time-zone
database, and a caller that checks every reply, all on this machine. After a
third of the time one relay is killed. Three seconds later it comes back. The
demo takes about 20 seconds and ends with a time line.

Exit status: 0 no reply was wrong and none was lost, 1 anything else.`,
		Example: `  arke demo
  arke demo --json 2>/dev/null`,
	}
	f := cmd.Flags()
	f.DurationVar(&cfg.Duration, "duration", 0, "how long to ask (default 14s)")
	f.IntVar(&cfg.Requests, "requests", 0, "requests to send at least, however long that takes (default 0)")
	f.IntVar(&cfg.Concurrency, "concurrency", 0, "requests under way (default 32)")
	f.BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cfg.Duration < 0 || cfg.Concurrency < 0 || cfg.Requests < 0 {
			return misuse(cmd, errors.New("--duration, --requests and --concurrency must be positive"))
		}
		report, err := demo.Run(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		return errors.Join(writeAs(a.Stdout, asJSON, report), report.Err())
	}
	add(cmd, demoMemberCommand(a), demoFederationCommand(a))
	return cmd
}

func demoFederationCommand(a App) *cobra.Command {
	cfg := demo.FederationConfig{Executable: a.Executable, Progress: a.Stderr}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "federation",
		Short: "Watch two networks lend each other a service",
		Long: `Watch two networks lend each other a service.

Two gateways stand between the networks us and eu, and a caller in us asks for a
service: while only eu has it, while us has it, too, while the one in us is killed
and comes back, and while a gateway is killed. All this is on this machine, takes
about 40 seconds, and ends with a table.

Exit status: 0 no request was lost, 1 anything else.`,
		Example: `  arke demo federation
  arke demo federation --json 2>/dev/null`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Phase < 0 {
				return misuse(cmd, errors.New("--phase must be positive"))
			}
			report, err := demo.RunFederation(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return errors.Join(writeAs(a.Stdout, asJSON, report), report.Err())
		},
	}
	cmd.Flags().DurationVar(&cfg.Phase, "phase", 0, "how long each part of the story takes at least (default 5s)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	return cmd
}

// demoMember is what the demo's member processes run.
func demoMemberCommand(a App) *cobra.Command {
	var name, socket string
	cmd := &cobra.Command{
		Use:    "member",
		Short:  "Be one member of the demo",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, _, err := logFlags{level: "warn", format: "console"}.logger(a.log)
			if err != nil {
				return err
			}
			return demo.ServeMember(cmd.Context(), name, a.Env.socket(socket), a.Stdout, log)
		},
	}
	cmd.Flags().StringVar(&name, "name", "zones", "what the member calls itself in its replies")
	cmd.Flags().StringVar(&socket, "socket", "", "the relay's socket")
	return cmd
}
