// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/outcome"
	"github.com/arke-mesh/arke/patterns"
)

// maxStdin bounds what is read from standard input: the largest message that
// any member may accept, and one byte more, so that more is refused.
const maxStdin = 16<<20 + 1

// requestFlags are what the user asked for.
type requestFlags struct {
	timeout    time.Duration
	headers    []string
	idempotent bool
	wait       bool
	asJSON     bool
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
	f.DurationVar(&flags.timeout, "timeout", 5*time.Second, "give up after this time")
	f.StringArrayVar(&flags.headers, "header", nil, "a header of the message, `KEY=VALUE`; may be repeated")
	f.BoolVar(&flags.idempotent, "idempotent", false, "handling it twice does no harm: retry if the link is lost")
	f.BoolVar(&flags.wait, "wait", false, "wait for a first member until the time-out")
	f.BoolVar(&flags.asJSON, "json", false, "print the outcome as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.timeout <= 0 {
			return misuse(cmd, fmt.Errorf("--timeout %s is not positive", flags.timeout))
		}
		message := patterns.Message{}
		var err error
		if message.Headers, err = parseHeaders(flags.headers); err != nil {
			return misuse(cmd, err)
		}
		if len(args) == 2 {
			if message.Body, err = a.body(args[1]); err != nil {
				return err
			}
		}
		return a.runRequest(cmd.Context(), attachment, args[0], message, flags)
	}
	return cmd
}

// body returns the message that the argument stands for.
func (a App) body(arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	body, err := io.ReadAll(io.LimitReader(a.Stdin, maxStdin))
	if err != nil {
		return nil, fmt.Errorf("reading the message from standard input: %w", err)
	}
	return body, nil
}

func parseHeaders(flags []string) (patterns.Headers, error) {
	var headers patterns.Headers
	for _, f := range flags {
		key, value, ok := strings.Cut(f, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--header %q is not KEY=VALUE", f)
		}
		headers = append(headers, patterns.Header{Key: key, Value: value})
	}
	return headers, nil
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
	opts := []patterns.RequestOption{patterns.Report(&how)}
	if flags.idempotent {
		opts = append(opts, patterns.Idempotent())
	}
	if flags.wait {
		opts = append(opts, patterns.WaitForMember())
	}
	begin := time.Now()
	reply, err := c.Request(ctx, cluster, m, opts...)
	took := time.Since(begin)
	if flags.asJSON {
		if jsonErr := writeJSON(a.Stdout, describe(reply, err, how, took)); jsonErr != nil {
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
	Outcome    string           `json:"outcome"`
	Member     string           `json:"member,omitempty"`
	Attempts   int              `json:"attempts"`
	Micros     int64            `json:"us"`
	Headers    []headerJSON     `json:"headers,omitempty"`
	Body       *string          `json:"body,omitempty"`        // where it is text
	BodyBase64 string           `json:"body_base64,omitempty"` // where it is not
	Error      string           `json:"error,omitempty"`
	Remote     *remoteErrorJSON `json:"remote,omitempty"`
}

type headerJSON struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type remoteErrorJSON struct {
	Code    patterns.Code `json:"code"`
	Message string        `json:"message"`
}

func describe(reply patterns.Message, err error, how patterns.Outcome, took time.Duration) requestJSON {
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
	for _, h := range reply.Headers {
		o.Headers = append(o.Headers, headerJSON(h))
	}
	if utf8.Valid(reply.Body) {
		text := string(reply.Body)
		o.Body = &text
	} else {
		o.BodyBase64 = base64.StdEncoding.EncodeToString(reply.Body)
	}
	return o
}

func remoteOf(err error) *remoteErrorJSON {
	var remote *patterns.RemoteError
	if !errors.As(err, &remote) {
		return nil
	}
	return &remoteErrorJSON{remote.Code, remote.Message}
}
