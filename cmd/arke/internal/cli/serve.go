// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/cmd/arke/internal/tcp"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// serveFlags are what the user asked for.
type serveFlags struct {
	echo          bool
	command       string
	tunnelEcho    bool
	tunnelCommand string
	env           []string // --env
	limits        patterns.Limits
	stayFlags
}

func serveCommand(a App) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve CLUSTER (--echo | --exec CMD | --tunnel-echo | --tunnel-exec CMD)",
		Short: "Be a member of a cluster",
		Long: `Be a member of a cluster, until a signal.

--echo replies with the request's own headers and body. --exec runs a shell
command for each request. The command reads the body from standard input, and
its standard output is the reply. If its status is not zero, the caller gets a
remote error with the command's standard error as text. Surveys are answered
like requests.

Pushes and broadcasts have no reply. They are printed to standard output, each
on lines of its own. With --exec they run the command, and its output is printed
instead.

The environment of a command describes the message: ARKE_PATTERN (request,
survey, push, broadcast, or tunnel), ARKE_MEMBER, ARKE_CALLER, ARKE_DEADLINE_MS,
and ARKE_HEADER_NAME for each header "name". Headers whose names differ only in
case or punctuation, such as a-b and A_B, have the same variable: it is the
first of several. From the environment of arke serve a command gets PATH, HOME,
USER, SHELL, LANG, LC_*, TZ, TERM, TMPDIR and the like, and the variables that
--env names. It never gets the network's key or a token.

A command has ended when its shell has ended. Children that it leaves in the
background go on; what they print later is lost.

--tunnel-echo sends back everything that comes through a tunnel. --tunnel-exec
runs a shell command for each tunnel. The command reads from standard input what
the caller sends, and its standard output goes to the caller at once. A status
other than zero resets the tunnel. When the caller has closed the tunnel, the
command gets the end of its input, can't print any more, and works on to its own
end. Both work together with --echo or --exec. Patterns
without a matching flag are refused.

The command prints "arke serve ready" when the member is registered. If the
relay restarts, the member registers again. SIGTERM or Ctrl-C drains: the member
accepts no new requests and finishes those it has. A second signal ends at once.

` + exits("all was finished after a signal", staying("something was cut off after 30 s", "too many members or clients")...),
		Example: `  arke serve echo --echo --tunnel-echo
  arke serve count --exec 'wc -c' --concurrency 4
  arke serve sort --tunnel-exec sort`,
		Args: calling(1),
	}
	flags.declare(a, cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.echo, "echo", false, "reply with the request's own headers and body")
	f.StringVar(&flags.command, "exec", "", "run this shell `CMD` for each message")
	f.BoolVar(&flags.tunnelEcho, "tunnel-echo", false, "send back what comes through a tunnel")
	f.StringVar(&flags.tunnelCommand, "tunnel-exec", "", "run this shell `CMD` for each tunnel")
	f.StringArrayVar(&flags.env, "env", nil, "also give commands the variable `NAME`, or NAME=VALUE; may be repeated")
	f.IntVar(&flags.limits.Concurrency, "concurrency", 0, "messages handled at once (default 64)")
	f.IntVar(&flags.limits.QueueLength, "queue", 0, "messages waiting at most; -1 = none (default 1024)")
	f.IntVar(&flags.limits.MessageBytes, "message-bytes", 0, "bytes of one message, with headers, at most; 16777216 is the most (default 1048576)")
	f.IntVar(&flags.limits.Tunnels, "tunnels", 0, "open tunnels at most (default 16384)")
	f.IntVar(&flags.limits.Capacity, "capacity", 0, "weight of this member in balancing (default 1)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		env, err := execute.Environment(a.Environ, flags.env)
		if err = cmp.Or(flags.validate(), err, positive(cmd, "concurrency", "message-bytes", "tunnels", "capacity")); err != nil {
			return misuse(cmd, err)
		}
		return runServe(a, cmd, args[0], flags, env)
	}
	return cmd
}

func (f serveFlags) validate() error {
	messages, tunnels := f.echo || f.command != "", f.tunnelEcho || f.tunnelCommand != ""
	switch {
	case !messages && !tunnels:
		return errors.New("say what to serve: --echo or --exec CMD, --tunnel-echo or --tunnel-exec CMD")
	case f.echo && f.command != "":
		return errors.New("choose one of --echo and --exec")
	case f.tunnelEcho && f.tunnelCommand != "":
		return errors.New("choose one of --tunnel-echo and --tunnel-exec")
	}
	return nil
}

func runServe(a App, cmd *cobra.Command, cluster string, flags serveFlags, env []string) error {
	orphans := a.stay()
	ctx := cmd.Context()
	c, log, err := flags.attach(a, cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	cut := make(chan struct{})
	defer close(cut) // before the client closes, which waits for commands
	m := &member{flags: flags, cut: cut, orphans: orphans, env: env, raw: !isTerminal(a.Stdout), out: a.Stdout, log: log, registered: make(chan struct{})}
	m.registration, err = c.Serve(ctx, cluster, m.service(), flags.limits)
	close(m.registered)
	if err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	m.print([]byte("arke serve ready\n"))

	<-ctx.Done()
	if err := a.drain(flags.drain, c.Shutdown); err != nil {
		return fmt.Errorf("some of what %s accepted was not finished: %w", cluster, err)
	}
	return nil
}

// member does the work of arke serve.
type member struct {
	flags   serveFlags
	env     []string // of commands
	orphans *execute.Orphans
	cut     <-chan struct{} // closed: commands that still run are killed
	raw     bool            // messages are printed as they are
	log     *zap.Logger

	registered   chan struct{}         // closed when registration is set, or none is to be had
	registration patterns.Registration // read after registered

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

// id returns that of the member. A relay that comes back gives it a new one.
func (m *member) id() string {
	<-m.registered // a first request may be faster than the news of it
	if m.registration == nil {
		return ""
	}
	return m.registration.Member()
}

// service returns the patterns that the user chose.
func (m *member) service() patterns.Service {
	var s patterns.Service
	command := execute.Handler{Command: m.flags.command, Env: m.env, Member: m.id, Orphans: m.orphans}
	switch {
	case m.flags.echo:
		s.Request = echo
		s.Push = func(_ context.Context, r *patterns.Request) { m.show(r.Body) }
		s.Broadcast = s.Push
	case m.flags.command != "":
		s.Request = command.ServeRequest
		s.Push = func(ctx context.Context, r *patterns.Request) {
			result, err := command.ServeRequest(ctx, r)
			if err != nil {
				m.log.Warn("the command failed", zap.Stringer("pattern", r.Pattern), zap.Error(err))
				return
			}
			if len(result.Body) > 0 {
				m.show(result.Body)
			}
		}
		s.Broadcast = s.Push
	}
	switch {
	case m.flags.tunnelEcho:
		s.Tunnel = echoTunnel
	case m.flags.tunnelCommand != "":
		s.Tunnel = execute.Handler{Command: m.flags.tunnelCommand, Env: m.env, Orphans: m.orphans, Cut: m.cut}.ServeTunnel
	}
	return s
}

// show prints a message.
func (m *member) show(body []byte) {
	if !m.raw {
		body = []byte(printable(string(body)))
	}
	m.print(line(body))
}

// print writes what belongs together in one go. That nobody reads it is not
// the callers' fault, nor their business.
func (m *member) print(text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.out.Write(text)
}

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
}

// echoTunnel sends back each message, of any size, in bounded memory.
func echoTunnel(ctx context.Context, t patterns.Tunnel) error {
	for {
		message, err := t.Receive(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, patterns.ErrTooLarge):
			err = echoLarge(ctx, t)
		case err == nil:
			err = t.Send(ctx, message)
		}
		if err != nil {
			return err
		}
	}
}

// echoLarge sends a message back while it comes.
func echoLarge(ctx context.Context, t patterns.Tunnel) error {
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := t.SendFrom(ctx, r)
		_ = r.CloseWithError(err)
		sent <- err
	}()
	_, err := t.ReceiveTo(ctx, w)
	_ = w.CloseWithError(err) // nil is the end of the message
	return errors.Join(err, <-sent)
}

// exposeFlags are what the user asked for.
type exposeFlags struct {
	to     string
	limits patterns.Limits
	stayFlags
}

func exposeCommand(a App) *cobra.Command {
	var flags exposeFlags
	cmd := &cobra.Command{
		Use:   "expose CLUSTER --to tcp://HOST:PORT",
		Short: "Make a TCP service a member of a cluster, until a signal",
		Long: `Make a TCP service a member of a cluster, until a signal. Each tunnel to the
member becomes a connection to the service. On another machine 'arke forward'
turns connections into tunnels.

The command prints "arke expose ready" when the service is a member. It waits
while nothing accepts connections at HOST:PORT. When the service goes away, its
member leaves the cluster, and callers get other members. SIGTERM or Ctrl-C
drains: the member accepts no new tunnels, and open ones may end by themselves.
A second signal ends at once.

` + exits("all connections had ended after a signal", staying("some were cut off after 30 s", "")...),
		Example: `  arke expose db --to tcp://127.0.0.1:5432
  arke forward --listen 127.0.0.1:5433 db      # on another machine
  psql --host 127.0.0.1 --port 5433            # there`,
		Args: calling(1),
	}
	flags.declare(a, cmd)
	f := cmd.Flags()
	f.StringVar(&flags.to, "to", "", "where the service listens, `tcp://HOST:PORT` (required)")
	f.IntVar(&flags.limits.Tunnels, "tunnels", 0, "connections at once (default 16384)")
	f.IntVar(&flags.limits.Capacity, "capacity", 0, "weight of this member in balancing (default 1)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		target, err := flags.target()
		if err = cmp.Or(err, positive(cmd, "tunnels", "capacity")); err != nil {
			return misuse(cmd, err)
		}
		return runExpose(a, cmd, args[0], target, flags)
	}
	return cmd
}

// target returns the service's HOST:PORT.
func (f exposeFlags) target() (string, error) {
	u, err := url.Parse(f.to)
	switch {
	case f.to == "":
		return "", fmt.Errorf("say which service, with --to tcp://HOST:PORT")
	case err != nil || u.Scheme != "tcp" || u.Hostname() == "" || u.Port() == "" || u.Host != f.to[len("tcp://"):]:
		return "", fmt.Errorf("--to %q is not tcp://HOST:PORT", f.to)
	}
	if port, err := strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
		return "", fmt.Errorf("--to %q: a port is between 1 and 65535", f.to)
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}

func runExpose(a App, cmd *cobra.Command, cluster, target string, flags exposeFlags) error {
	a.stay()
	ctx := cmd.Context()
	c, log, err := flags.attach(a, cmd)
	if err != nil {
		return err
	}
	var ready sync.Once
	e := tcp.NewExposer(tcp.ExposeConfig{
		Cluster: cluster,
		Target:  target,
		Server:  c,
		Limits:  flags.limits,
		Ready:   func() { ready.Do(func() { fmt.Fprintln(a.Stdout, "arke expose ready") }) },
		Log:     log,
	})
	defer e.Close()
	defer c.Close()
	if err := e.Run(ctx); err != nil {
		return &clusterError{cluster: cluster, err: err}
	}
	if err := a.drain(flags.drain, c.Shutdown); err != nil {
		return fmt.Errorf("some connections of %s were cut off: %w", cluster, err)
	}
	return nil
}

// forwardFlags are what the user asked for.
type forwardFlags struct {
	listen string
	stayFlags
}

func forwardCommand(a App) *cobra.Command {
	var flags forwardFlags
	cmd := &cobra.Command{
		Use:   "forward --listen HOST:PORT CLUSTER",
		Short: "Lead a local port to a cluster, until a signal",
		Long: `Lead a local port to a cluster, until a signal. Each connection gets a tunnel of
its own to one member, picked by load. The members are services behind 'arke
expose', or any others that accept tunnels.

The command prints "arke forward ready HOST:PORT" when it listens. Port 0 means
any free port, and no host means 127.0.0.1. If no member can be reached, the
connection is reset, and standard error says so. SIGTERM or Ctrl-C drains: the
command accepts no new connections, and open ones may end by themselves. A
second signal ends at once.

Whoever reaches the port can use the cluster without a key. Listen on loopback
unless you want that.

` + exits("all connections had ended after a signal", staying("some were cut off after 30 s", "")...),
		Example: `  arke forward --listen 127.0.0.1:5433 db
  psql --host 127.0.0.1 --port 5433`,
		Args: calling(1),
	}
	flags.declare(a, cmd)
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "`HOST:PORT` to listen on")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runForward(a, cmd, args[0], flags)
	}
	return cmd
}

// endpoint returns where to listen, as net.Listen wants to have it.
func (f forwardFlags) endpoint() (network, address string, err error) {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		return "", "", fmt.Errorf("--listen %q is not HOST:PORT", f.listen)
	}
	if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
		return "", "", fmt.Errorf("--listen %q: a port is between 0 and 65535", f.listen)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	network = "tcp"
	if ip := net.ParseIP(host); ip != nil && ip.To4() != nil {
		network = "tcp4" // or 0.0.0.0 would mean IPv6, too
	}
	return network, net.JoinHostPort(host, port), nil
}

func runForward(a App, cmd *cobra.Command, cluster string, flags forwardFlags) error {
	a.stay()
	network, address, err := flags.endpoint()
	if err != nil {
		return misuse(cmd, err)
	}
	c, log, err := flags.attach(a, cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	addr := l.Addr().(*net.TCPAddr)
	if !addr.IP.IsLoopback() {
		fmt.Fprintf(a.Stderr, "arke: warning: %s is not loopback: every program that reaches it can use %s without a key\n", addr, cluster)
	}
	f := tcp.NewForwarder(tcp.ForwardConfig{Listener: l.(*net.TCPListener), Cluster: cluster, Opener: c, Log: log})
	fmt.Fprintf(a.Stdout, "arke forward ready %s\n", addr)
	err = f.Serve(cmd.Context())

	if cut := a.drain(flags.drain, f.Shutdown); cut != nil {
		cut = fmt.Errorf("some connections to %s were cut off: %w", cluster, cut)
		return errors.Join(err, cut)
	}
	return err
}

func tunnelCommand(a App) *cobra.Command {
	var flags requestFlags
	cmd := &cobra.Command{
		Use:   "tunnel CLUSTER",
		Short: "Connect standard input and output with one member",
		Long: `Connect standard input and output with one member of a cluster: what comes on
standard input goes to the member, what the member sends goes to standard
output, unchanged and as it comes. The end of standard input ends that
direction only; the command ends when the member has ended, too.

` + exits("both have ended in good order", calls(end{patterns.OutcomeRemoteError, "the member reset the tunnel"},
			end{patterns.OutcomeDeadline, "deadline of the opening"}, end{patterns.OutcomeInterrupted, "the link to the member was lost"},
			end{patterns.OutcomeTooMany, "too many tunnels or clients"})...),
		Example: `  arke serve sort --tunnel-exec sort &
  arke tunnel sort <words.txt >sorted.txt`,
		Args: calling(1),
	}
	flags.declare(a, cmd)
	cmd.Flags().Lookup("timeout").Usage = "give up when no tunnel is open after this time"
	cmd.Flags().Lookup("header").Usage = "a header of the opening, `KEY=VALUE`; may be repeated"
	cmd.RunE = a.sending(&flags.sendFlags, func(opening context.Context, c *client.Client, cluster string, first patterns.Message) error {
		t, err := c.OpenTunnel(opening, cluster, first, flags.options(&patterns.RequestReport{})...)
		if err != nil {
			return &clusterError{cluster: cluster, err: err, one: true}
		}
		if err := pipe(cmd.Context(), a, t); err != nil {
			_ = t.Reset(patterns.CodeUnknown, "the caller has gone")
			return &tunnelError{cluster, err}
		}
		return nil
	})
	return cmd
}

// pipe connects standard input and output with the tunnel until both
// directions have ended.
func pipe(ctx context.Context, a App, t patterns.Tunnel) error {
	// Reading a terminal cannot be interrupted: this goroutine may outlive us
	// until the process ends, which is next.
	sent := make(chan error, 1)
	go func() { sent <- sendAll(ctx, t, a.Stdin) }()

	w := &broken{w: a.Stdout}
	for {
		_, err := t.ReceiveTo(ctx, w)
		switch {
		case err == nil:
			continue
		case w.err != nil:
			return w.err
		case !errors.Is(err, io.EOF):
			return err
		}
		break
	}
	select {
	case err := <-sent:
		if !errors.Is(err, patterns.ErrPeerClosed) {
			return err
		}
	case <-t.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-t.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.Err(); !errors.Is(err, patterns.ErrPeerClosed) {
		return err
	}
	return nil // the member has ended in good order, and needed no more
}

// pieceBytes is how much of standard input becomes one message at most.
const pieceBytes = 32 << 10

// sendAll sends what r has, as it comes, and ends that direction.
func sendAll(ctx context.Context, t patterns.Tunnel, r io.Reader) error {
	buf := make([]byte, pieceBytes)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := t.Send(ctx, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return t.CloseSend()
		case err != nil:
			return err
		}
	}
}

// broken remembers why writing failed.
type broken struct {
	w   io.Writer
	err error
}

func (b *broken) Write(p []byte) (int, error) {
	n, err := b.w.Write(p)
	if err != nil {
		b.err = err
	}
	return n, err
}
