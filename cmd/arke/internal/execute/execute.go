// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

const (
	// MaxReply bounds what a command may print; more is an error.
	MaxReply = 16 << 20
	// MaxMessage bounds how much of standard error is told to the caller.
	MaxMessage = 4 << 10
	// patience is how long a killed command's children may hold its pipes.
	patience = time.Second
)

// Handler runs one command per request with "sh -c".
//
// A status other than zero is the caller's *patterns.RemoteError with
// CodeExit, whose message is the first MaxMessage bytes of standard error.
// When the request's context ends, the command and what it started are killed.
type Handler struct {
	// Command is the shell command.
	Command string
}

var _ patterns.Handler = Handler{}

// ServeRequest implements patterns.Handler. The command finds in ARKE_PATTERN
// how the message was sent: "request", "survey", "push" or "broadcast".
func (h Handler) ServeRequest(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
	stdout := &limited{max: MaxReply}
	stderr := &limited{max: MaxMessage}
	cmd := exec.CommandContext(ctx, "sh", "-c", h.Command)
	cmd.Stdin = bytes.NewReader(r.Body)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(cmd.Environ(), "ARKE_PATTERN="+r.Pattern.String())
	cmd.WaitDelay = patience
	isolate(cmd)

	err := cmd.Run()
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
	message := strings.TrimSpace(strings.ToValidUTF8(stderr.buf.String(), "\uFFFD"))
	if message == "" {
		message = err.Error()
	}
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
