// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

const (
	// MaxReply bounds what a command may print; more is an error.
	MaxReply = 16 << 20
	// MaxMessage bounds how much of standard error is told to the caller.
	MaxMessage = 4 << 10
	// patience is how long the children of a command that has ended, or was killed,
	// may hold its pipes.
	patience = time.Second
)

// Handler runs one command per request, or per tunnel, with "sh -c".
type Handler struct {
	// Command is the shell command.
	Command string
	// Env is the command's environment, see Environment, to which is added what
	// it is told of the request or the tunnel.
	Env []string
	// Member returns the id of this member; nil = it has none. A tunnel tells it
	// itself.
	Member func() string
	// Orphans learns which processes are commands; nil = nobody collects orphans.
	Orphans *Orphans
	// Cut, when it is closed, has the commands of tunnels killed that still run; nil = they
	// run to their end, or that of their tunnel.
	Cut <-chan struct{}
}

var _ patterns.Handler = Handler{}

// command returns the command, to be started, for an occasion, and where its standard
// error will be. When ctx ends, the command and what it started are killed.
func (h Handler) command(ctx context.Context, about occasion) (*exec.Cmd, *limited) {
	stderr := &limited{max: MaxMessage}
	cmd := exec.CommandContext(ctx, "sh", "-c", h.Command)
	cmd.Stderr = stderr
	cmd.Env = append(slices.Clip(h.Env), about.variables(time.Now())...)
	cmd.WaitDelay = patience
	isolate(cmd)
	return cmd, stderr
}

// ServeRequest implements patterns.Handler.
//
// A status other than zero is the caller's *patterns.RemoteError with
// CodeExit, whose message is the first MaxMessage bytes of standard error.
// When the request's context ends, the command and what it started are killed.
func (h Handler) ServeRequest(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
	about := occasion{pattern: r.Pattern, caller: r.From, deadline: r.Deadline, headers: r.Headers}
	if h.Member != nil {
		about.member = h.Member()
	}
	cmd, stderr := h.command(ctx, about)
	stdout := &limited{max: MaxReply}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(r.Body), stdout

	err := h.Orphans.start(cmd)
	if err == nil {
		err = h.Orphans.wait(cmd)
	}
	switch {
	case ctx.Err() != nil:
		return patterns.Message{}, ctx.Err()
	case err != nil:
		return patterns.Message{}, refusal(r.Cluster, err, stderr)
	case stdout.lost > 0:
		return patterns.Message{}, &patterns.RemoteError{
			Cluster: r.Cluster,
			Code:    patterns.CodeExit,
			Message: fmt.Sprintf("the command printed more than %d bytes", MaxReply),
		}
	}
	return patterns.Message{Body: stdout.buf.Bytes()}, nil
}

// refusal turns a failed command into what the caller gets.
func refusal(cluster string, err error, stderr *limited) *patterns.RemoteError {
	message := cmp.Or(strings.TrimSpace(strings.ToValidUTF8(stderr.buf.String(), "\uFFFD")), err.Error())
	return &patterns.RemoteError{Cluster: cluster, Code: patterns.CodeExit, Message: message}
}

// limited keeps the first max bytes and counts the others. It never fails, so
// that a talkative command is not killed by a broken pipe.
type limited struct {
	buf  bytes.Buffer
	max  int
	lost int
}

func (l *limited) Write(p []byte) (int, error) {
	keep := min(len(p), l.max-l.buf.Len())
	l.buf.Write(p[:keep])
	l.lost += len(p) - keep
	return len(p), nil
}

// pieceBytes is how much of a command's output becomes one message at most.
const pieceBytes = 32 << 10

// ServeTunnel is a patterns.Service's Tunnel: what the caller sends is the
// command's standard input, its standard output goes to the caller as it comes.
//
// The command sees the end of its input when the caller has sent all. When the caller
// has closed both directions, the command's output is closed, too, and it works on to its
// own end. The tunnel ends in good order when the command has closed its output and ends
// with status 0. Another status resets the tunnel with CodeExit and the first MaxMessage
// bytes of standard error. When the tunnel breaks, or Cut is closed, the command and what
// it started are killed.
func (h Handler) ServeTunnel(_ context.Context, t patterns.Tunnel) error {
	// The handler's context ends with the tunnel, also in good order, when the command
	// has yet to work on what came last.
	ctx, kill := context.WithCancelCause(context.Background())
	defer kill(nil)
	info := t.Info()
	cmd, stderr := h.command(ctx, occasion{pattern: patterns.PatternTunnel, member: info.Member, caller: info.Peer, headers: info.Open.Headers})
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.Orphans.start(cmd); err != nil {
		return err
	}

	var beside sync.WaitGroup
	beside.Go(func() { h.watch(ctx, t, kill) })
	feeding, stop := context.WithCancel(ctx)
	beside.Go(func() {
		if err := feed(feeding, t, stdin); err != nil && feeding.Err() == nil {
			kill(err)
		}
	})
	if err := drain(ctx, t, stdout); err != nil && !errors.Is(err, patterns.ErrPeerClosed) {
		kill(err)
	}
	exit := h.Orphans.wait(cmd) // which closes both pipes
	err = context.Cause(ctx)
	switch {
	case err != nil:
	case exit != nil:
		refused := refusal(info.Cluster, exit, stderr)
		_ = t.Reset(refused.Code, refused.Message)
		err = refused
	default:
		// The caller may be in the middle of a message, which nobody wants any
		// more: to stop receiving there would be a reset.
		_ = t.Close()
	}
	stop()
	kill(nil)
	beside.Wait()
	return err
}

// watch kills the command when the tunnel breaks, or when h is cut off, until ctx ends.
func (h Handler) watch(ctx context.Context, t patterns.Tunnel, kill context.CancelCauseFunc) {
	for done := t.Done(); ; {
		select {
		case <-done:
			if err := t.Err(); err != nil && !errors.Is(err, patterns.ErrPeerClosed) {
				kill(err)
			}
			done = nil // in good order: the command works on
		case <-h.Cut:
			kill(context.Canceled)
			return
		case <-ctx.Done():
			return
		}
	}
}

// feed writes what the caller sends until its end, or returns why the tunnel ended
// otherwise. What a command does not want to read is thrown away.
func feed(ctx context.Context, t patterns.Tunnel, stdin io.WriteCloser) error {
	defer stdin.Close()
	w := &willing{w: stdin}
	for {
		_, err := t.ReceiveTo(ctx, w)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// drain sends what the command prints until it closes its output. If the caller takes
// nothing more, the command can't print on.
func drain(ctx context.Context, t patterns.Tunnel, stdout io.ReadCloser) error {
	defer stdout.Close()
	buf := make([]byte, pieceBytes)
	for {
		n, err := stdout.Read(buf)
		if n > 0 {
			if err := t.Send(ctx, buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // its end, or that of the command
		}
	}
}

// willing takes everything, also when nobody reads any more.
type willing struct {
	w      io.Writer
	closed bool
}

func (w *willing) Write(p []byte) (int, error) {
	if !w.closed {
		if _, err := w.w.Write(p); err != nil {
			w.closed = true
		}
	}
	return len(p), nil
}
