// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

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
}

// drainTime is how long accepted work may take after the first signal.
const drainTime = 30 * time.Second

// drain finishes, after the first signal, what a command accepted; a second
// signal cuts that short.
func (a App) drain(finish func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	return finish(ctx)
}

// Env holds the environment variables that mean something to Arke.
type Env struct {
	Network    string // ARKE_NETWORK: the content of a network file
	Socket     string // ARKE_SOCKET: the relay's socket
	Token      string // ARKE_TOKEN: what programs show at a relay's TCP address
	RuntimeDir string // XDG_RUNTIME_DIR: where the default socket lives
	GOGC       string // GOGC: how the user paces Go's garbage collector, if he does
}

// Run executes the command that args (without the program's name) ask for and
// returns the exit status. The first end of ctx asks the command to finish.
func (a App) Run(ctx context.Context, args []string) int {
	a.Stderr = guard{a.Stderr}
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
	fmt.Fprintln(a.Stderr, "arke: "+explain(err))
	return exitCode(err)
}

func rootCommand(a App) *cobra.Command {
	root := &cobra.Command{
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
		Args:          subcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true // ours has examples
	root.SetFlagErrorFunc(badFlag)
	root.AddCommand(
		keygenCommand(a), relayCommand(a), serveCommand(a), requestCommand(a), surveyCommand(a), pushCommand(a),
		broadcastCommand(a), publishCommand(a), subscribeCommand(a), tunnelCommand(a), exposeCommand(a), forwardCommand(a),
		membersCommand(a), statusCommand(a), benchCommand(a), demoCommand(a), simCommand(a), completionCommand(a), manCommand(a), versionCommand(a),
	)
	return root
}

// attachment holds the flags that say where the relay is.
type attachment struct {
	env     Env
	name    string // what we call ourselves in the relay's status
	socket  string
	address string
	token   secretFlag
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
	t.token.declare(f, "the `FILE` with the token that goes with --address (default $ARKE_TOKEN)")
	return t
}

func (t *attachment) target() string {
	if t.address != "" {
		return t.address
	}
	return cmp.Or(t.socket, client.FindSocket(t.env.Socket, t.env.RuntimeDir))
}

// socket returns the socket's path: the flag, the environment, the default.
func (e Env) socket(flag string) string {
	switch {
	case flag != "":
		return flag
	case e.Socket != "":
		return e.Socket
	}
	return client.DefaultSocket(e.RuntimeDir)
}

// attachLogging connects a command that stays until a signal, which therefore
// logs: at the level of its flag. The caller closes the client.
func (a App) attachLogging(cmd *cobra.Command, t *attachment, level string) (*client.Client, *zap.Logger, error) {
	log, err := a.logger(level)
	if err != nil {
		return nil, nil, misuse(cmd, err)
	}
	c, err := t.attach(cmd.Context(), log)
	return c, log, err
}

// attach connects to the relay. The caller closes the client.
func (t *attachment) attach(ctx context.Context, log *zap.Logger) (*client.Client, error) {
	if t.address != "" && t.socket != "" {
		return nil, errors.New("choose one of --socket and --address")
	}
	cfg := client.Config{Name: t.name, Logger: log}
	if t.address != "" {
		cfg.Address = t.address
		var err error
		if cfg.Token, err = t.token.read(t.env.Token); err != nil {
			return nil, err
		}
	} else {
		cfg.Socket = t.target()
	}
	c, err := client.New(cfg)
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		if c != nil {
			c.Close()
		}
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, &attachError{target: t.target(), err: err}
	}
	return c, nil
}

// attachTime is how long a command that makes one call waits for a relay that may
// just be starting.
const attachTime = time.Second

// within attaches, does what is to be done, and detaches, all of it within the
// time-out.
func (t *attachment) within(ctx context.Context, timeout time.Duration, do func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	attaching, attached := context.WithTimeout(ctx, attachTime)
	c, err := t.attach(attaching, nil)
	attached()
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, c)
}

const logLevelHelp = "the lowest level to log to standard error: debug, info, warn, or error"

// logger returns a logger that writes plain lines to standard error.
func (a App) logger(level string) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil || l > zapcore.ErrorLevel {
		return nil, fmt.Errorf("--log-level %q is not debug, info, warn, or error", level)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeLevel = zapcore.CapitalLevelEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	enc.ConsoleSeparator = "  "
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(a.Stderr)), l)
	return zap.New(core), nil
}

// outliveReaders keeps a command that serves others alive when nobody reads its
// output any more, as after arke relay | grep -m 1 ready: what it prints is lost
// then, what it serves is not. Other commands die of that, as programs do whose
// output is what they are for.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
