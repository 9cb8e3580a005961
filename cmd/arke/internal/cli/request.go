// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// requestFlags are what the user asked for of what goes to one member.
type requestFlags struct {
	sendFlags
	idempotent bool
	wait       bool
}

// declare adds the flags of what goes to one member.
func (flags *requestFlags) declare(a App, cmd *cobra.Command) {
	flags.sendFlags.declare(a, cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.idempotent, "idempotent", false, "handling it twice does no harm: retry if the link is lost")
	f.BoolVar(&flags.wait, "wait", false, "wait for a first member until the time-out")
}

func (flags requestFlags) options(how *patterns.RequestReport) []patterns.RequestOption {
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
		Args: calling(2),
	}
	flags.declare(a, cmd)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the outcome as one JSON object")
	cmd.RunE = a.sending(&flags.sendFlags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		var how patterns.RequestReport
		begin := time.Now()
		reply, err := c.Request(ctx, cluster, m, flags.options(&how)...)
		took := time.Since(begin)
		if err != nil {
			err = &clusterError{cluster: cluster, err: err, one: true}
		}
		switch {
		case flags.asJSON:
			return a.tellOutcome(describeMessage(reply.Headers, reply.Body), err, how, took)
		case err != nil:
			return err
		}
		return a.printReply(reply.Body)
	})
	return cmd
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

// accepted is the outcome of what went well and has no reply by nature.
const accepted = "accepted"

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

// tellOutcome prints how it went as JSON; reply is nil where there is none by
// nature. It returns err, unless there is worse.
func (a App) tellOutcome(reply *messageJSON, err error, how patterns.RequestReport, took time.Duration) error {
	came := patterns.OutcomeOf(err).String()
	if err == nil && reply == nil {
		came = accepted
	}
	o := requestJSON{
		Outcome:  came,
		Member:   how.Member,
		Attempts: how.Attempts,
		Micros:   took.Microseconds(),
	}
	if err != nil {
		o.Error = err.Error()
		o.Remote = remoteOf(err)
	} else {
		o.messageJSON = reply
	}
	if jsonErr := writeJSON(a.Stdout, o); jsonErr != nil {
		return told(jsonErr)
	}
	return told(err)
}

func remoteOf(err error) *remoteErrorJSON {
	var remote *patterns.RemoteError
	if !errors.As(err, &remote) {
		return nil
	}
	return &remoteErrorJSON{remote.Code, remote.Message}
}
