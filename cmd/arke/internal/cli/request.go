// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/cmd/arke/internal/outcome"
	"github.com/arke-mesh/arke/patterns"
)

// requestFlags are what the user asked for.
type requestFlags struct {
	timeout    time.Duration
	headers    []string
	idempotent bool
	wait       bool
	asJSON     bool
}

// declare adds the flags of what goes to one member.
func (flags *requestFlags) declare(f *pflag.FlagSet) {
	declareMessage(f, &flags.timeout, &flags.headers)
	f.BoolVar(&flags.idempotent, "idempotent", false, "handling it twice does no harm: retry if the link is lost")
	f.BoolVar(&flags.wait, "wait", false, "wait for a first member until the time-out")
}

func (flags requestFlags) options(how *patterns.Outcome) []patterns.RequestOption {
	opts := []patterns.RequestOption{patterns.Report(how)}
	if flags.idempotent {
		opts = append(opts, patterns.Idempotent())
	}
	if flags.wait {
		opts = append(opts, patterns.WaitForMember())
	}
	return opts
}

func (a App) request() *cobra.Command {
	var flags requestFlags
	cmd := &cobra.Command{
		Use:   "request CLUSTER [BODY | -]",
		Short: "Ask one member of a cluster and print its reply",
		Long: `Ask one member of a cluster and print its reply, byte for byte.

BODY is the message; - reads it from standard input; without it the message
is empty. Exit status: 0 reply, 2 remote error, 3 no member, 4 overloaded,
5 unreachable, 6 deadline, 7 interrupted, 8 unauthorized, 9 too large,
1 anything else.`,
		Example: `  arke request greeting world
  arke request zones '{"transitions":"Europe/Berlin","year":2024}' --json
  arke request resize - --header width=640 --timeout 30s <photo.jpg >small.jpg`,
		Args: positional(1, 2, "CLUSTER"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	flags.declare(f)
	f.BoolVar(&flags.asJSON, "json", false, "print the outcome as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkTimeout(flags.timeout); err != nil {
			return misuse(cmd, err)
		}
		message, err := a.message(cmd, args[1:], flags.headers)
		if err != nil {
			return err
		}
		return a.runRequest(cmd.Context(), attachment, args[0], message, flags)
	}
	return cmd
}

func (a App) runRequest(ctx context.Context, at *attachment, cluster string, m patterns.Message, flags requestFlags) error {
	ctx, cancel := context.WithTimeout(ctx, flags.timeout)
	defer cancel()
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()

	var how patterns.Outcome
	begin := time.Now()
	reply, err := c.Request(ctx, cluster, m, flags.options(&how)...)
	took := time.Since(begin)
	if flags.asJSON {
		if jsonErr := writeJSON(a.Stdout, describe(describeMessage(reply.Headers, reply.Body), err, how, took)); jsonErr != nil {
			return jsonErr
		}
	}
	if err != nil {
		return &clusterError{cluster, err}
	}
	if flags.asJSON {
		return nil
	}
	return a.printReply(reply.Body)
}

// printReply writes the bytes, and ends the line where a person reads them.
func (a App) printReply(body []byte) error {
	if _, err := a.Stdout.Write(body); err != nil {
		return err
	}
	if len(body) > 0 && body[len(body)-1] != '\n' && isTerminal(a.Stdout) {
		_, err := fmt.Fprintln(a.Stdout)
		return err
	}
	return nil
}

// requestJSON is the outcome of a request as one object.
type requestJSON struct {
	Outcome  string `json:"outcome"`
	Member   string `json:"member,omitempty"`
	Attempts int    `json:"attempts"`
	Micros   int64  `json:"us"`
	*messageJSON
	Error  string           `json:"error,omitempty"`
	Remote *remoteErrorJSON `json:"remote,omitempty"`
}

type remoteErrorJSON struct {
	Code    patterns.Code `json:"code"`
	Message string        `json:"message"`
}

// describe tells how it went; reply is nil where there is none by nature.
func describe(reply *messageJSON, err error, how patterns.Outcome, took time.Duration) requestJSON {
	o := requestJSON{
		Outcome:  outcome.Of(err).String(),
		Member:   how.Member,
		Attempts: how.Attempts,
		Micros:   took.Microseconds(),
	}
	if err != nil {
		o.Error = err.Error()
		o.Remote = remoteOf(err)
		return o
	}
	o.messageJSON = reply
	return o
}

func remoteOf(err error) *remoteErrorJSON {
	var remote *patterns.RemoteError
	if !errors.As(err, &remote) {
		return nil
	}
	return &remoteErrorJSON{remote.Code, remote.Message}
}
