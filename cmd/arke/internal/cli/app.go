// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/relay/client"
)

// App is everything a command needs from the process.
type App struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    Env
	// Environ is the whole environment but for its secrets, KEY=VALUE each.
	Environ []string
	// Executable is the path of the running binary; the demo starts it again.
	Executable string
	// Abort ends when a drain that is under way is to be cut short.
	Abort context.Context

	log *logQueue // to Stderr; set by Run
}

// drainTime is how long accepted work may take after the first signal, unless
// --drain-timeout says something else.
const drainTime = 30 * time.Second

// declareDrain adds the flag for that time.
func declareDrain(f *pflag.FlagSet, d *time.Duration) {
	f.DurationVar(d, "drain-timeout", drainTime, "how long accepted work may take after a signal, before it is cut off")
}

// drain finishes, after the first signal, what a command accepted, within d; a
// second signal cuts that short.
func (a App) drain(d time.Duration, finish func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(a.Abort, d)
	defer cancel()
	return finish(ctx)
}

// Env holds the environment variables that mean something to Arke.
type Env struct {
	Network    string // ARKE_NETWORK: the content of a network file
	Socket     string // ARKE_SOCKET: the relay's socket
	Token      string // ARKE_TOKEN: what programs prove at a relay's TCP address
	RuntimeDir string // XDG_RUNTIME_DIR: where the default socket lives
	GOGC       string // GOGC: how the user paces Go's garbage collector, if he does
}

// Run executes the command that args (without the program's name) ask for and
// returns the exit status. The first end of ctx asks the command to finish.
func (a App) Run(ctx context.Context, args []string) int {
	a.Stderr = guard{a.Stderr, new(sync.Mutex)}
	a.log = newLogQueue(a.Stderr)
	defer a.log.close()
	root := rootCommand(a)
	root.SetArgs(separated(root, args))
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	tellFailure(a.Stdout, cmd, args, err)
	fmt.Fprintln(a.log, "arke: "+explain(err))
	return exitCode(err)
}

func rootCommand(a App) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "arke",
		Short: "Messaging by service name, without a broker",
		Long: `Arke is an overlay network in which programs call services by name.

Each program talks to a relay on its own machine. Relays find each other by
themselves. Start a relay, serve a cluster, and ask it:

  arke relay --dev &
  arke serve greeting --exec 'echo hello, $(cat)' &
  arke request greeting world

All other commands talk to the relay on this machine, through its socket:
--socket PATH, or the environment variable ARKE_SOCKET.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	},
		keygenCommand(a), keyCommand(a), authorityCommand(a), relayCommand(a), gatewayCommand(a), configCommand(a), policyCommand(a), serveCommand(a), requestCommand(a), surveyCommand(a), pushCommand(a),
		broadcastCommand(a), publishCommand(a), subscribeCommand(a), tunnelCommand(a), exposeCommand(a), forwardCommand(a),
		membersCommand(a), statusCommand(a), doctorCommand(a), benchCommand(a), demoCommand(a), simCommand(a), completionCommand(a), manCommand(a), versionCommand(a),
	)
	version := root.Flags().Bool("version", false, "print the version of this program, as 'arke version' does")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return printVersion(a.Stdout, false)
		}
		return help(cmd, args)
	}
	root.CompletionOptions.DisableDefaultCmd = true // ours has examples
	root.SetFlagErrorFunc(badFlag)
	return root
}

// socket returns the socket's path: the flag, the environment, the default.
func (e Env) socket(flag string) string {
	return cmp.Or(flag, e.Socket, client.DefaultSocket(e.RuntimeDir))
}

// attachFlags adds the flags to cmd.
func (a App) attachFlags(cmd *cobra.Command) *attachment {
	t := &attachment{env: a.Env, name: "arke " + cmd.Name()}
	if strings.Contains(cmd.Use, "CLUSTER") {
		cmd.ValidArgsFunction = t.completeCluster
	}
	f := cmd.Flags()
	f.StringVar(&t.socket, "socket", "", "the relay's socket (default $ARKE_SOCKET, else the user's, else the machine's)")
	f.StringVar(&t.address, "address", "", "the relay's loopback TCP address, instead of the socket")
	f.StringVar(&t.token, "token-file", "", "the `FILE` with the token that goes with --address (default $ARKE_TOKEN)")
	f.StringArrayVar(&t.trusted, "trust-user", nil, "a `USER` whose relay may be used, besides one's own and root's; may be repeated")
	f.StringArrayVar(&t.keys, "cluster-key-file", nil, "a `FILE` with keys of one cluster, made by 'arke keygen --cluster'; may be repeated")
	f.DurationVar(&t.wait, "wait-relay", 0, "wait so long for a relay that is not there yet, before any time-out begins")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("cluster-key-file") { // by a flag, which is for this command alone
			t.uses = nameOf(cmd, args)
		}
		return t.resolve(cmd, a.Environ)
	}
	return t
}

// stayFlags are what the user asked for of a command that is attached until a signal,
// and therefore logs.
type stayFlags struct {
	relay *attachment
	log   logFlags
	drain time.Duration
}

// declare adds the flags to cmd.
func (flags *stayFlags) declare(a App, cmd *cobra.Command) {
	flags.relay = a.attachFlags(cmd)
	flags.log.declare(cmd.Flags())
	declareDrain(cmd.Flags(), &flags.drain)
}

// attach connects to the relay. The caller closes the client.
func (flags *stayFlags) attach(a App, cmd *cobra.Command) (*client.Client, *zap.Logger, error) {
	log, _, err := flags.log.logger(a.log)
	if err != nil {
		return nil, nil, misuse(cmd, err)
	}
	within := cmp.Or(flags.relay.wait, stayTime)
	patience := time.AfterFunc(lookAgain/4, func() {
		log.Info("no relay yet, waiting for it", zap.String("at", flags.relay.target()), zap.Duration("within", within))
	})
	defer patience.Stop()
	c, err := flags.relay.attach(cmd.Context(), stayTime, log)
	return c, log, err
}

// stay prepares a command that serves others until a signal. Such a command outlives
// the readers of its output, as after arke relay | grep -m 1 ready; others die of that,
// as programs do whose output is their purpose. As the first process of a container it
// collects orphans; a caller that runs commands tells the result their processes.
func (a App) stay() *execute.Orphans {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	orphans := execute.NewOrphans()
	if os.Getpid() == 1 {
		go orphans.Reap(a.Abort)
	}
	return orphans
}
