// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
)

// writeJSON prints v as one line.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// failureJSON is how a command with --json fails that has printed nothing of it.
type failureJSON struct {
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

// toldError is an error that standard output has told already, as JSON.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

// told marks err, if there is any, as printed.
func told(err error) error {
	if err == nil {
		return nil
	}
	return &toldError{err}
}

// tellFailure prints err where cmd talks to a relay, was asked for JSON, and has
// not told it in an object of its own.
func (a App) tellFailure(cmd *cobra.Command, err error) {
	asJSON := cmd.Flags().Lookup("json")
	if asJSON == nil || asJSON.Value.String() != "true" || cmd.Flags().Lookup("token") == nil {
		return
	}
	var already *toldError
	var usage *usageError
	if errors.As(err, &already) || errors.As(err, &usage) {
		return
	}
	_ = writeJSON(a.Stdout, failureJSON{outcomeOf(err).String(), err.Error()})
}

// isTerminal says whether a person looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	stat, err := f.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// maxStdin bounds what is read from standard input: the largest message that
// any member may accept, and one byte more, so that more is refused.
const maxStdin = 16<<20 + 1

// message returns what the arguments after the first, if any, and the headers
// stand for.
func (a App) message(cmd *cobra.Command, args, headers []string) (patterns.Message, error) {
	var m patterns.Message
	var err error
	if m.Headers, err = parseHeaders(headers); err != nil {
		return m, misuse(cmd, err)
	}
	if len(args) > 0 {
		m.Body, err = a.body(cmd.Context(), args[0])
	}
	return m, err
}

// body returns the message that the argument stands for.
func (a App) body(ctx context.Context, arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	body, err := io.ReadAll(io.LimitReader(a.input(ctx), maxStdin))
	if err != nil {
		return nil, fmt.Errorf("reading the message from standard input: %w", err)
	}
	return body, nil
}

// input is standard input until ctx ends. Reading a terminal or a pipe cannot be
// interrupted: the goroutine that does may outlive us until the process ends.
func (a App) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, a.Stdin)
		_ = w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return r
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

// messageJSON is a message as a part of an object.
type messageJSON struct {
	Headers    []headerJSON `json:"headers,omitempty"`
	Body       *string      `json:"body,omitempty"`        // where it is text
	BodyBase64 string       `json:"body_base64,omitempty"` // where it is not
}

type headerJSON struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func describeMessage(headers patterns.Headers, body []byte) *messageJSON {
	m := &messageJSON{}
	for _, h := range headers {
		m.Headers = append(m.Headers, headerJSON(h))
	}
	if utf8.Valid(body) {
		text := string(body)
		m.Body = &text
	} else {
		m.BodyBase64 = base64.StdEncoding.EncodeToString(body)
	}
	return m
}

// line returns the body with an end of line.
func line(body []byte) []byte {
	if len(body) > 0 && body[len(body)-1] == '\n' {
		return body
	}
	return append(body[:len(body):len(body)], '\n')
}

// missingJSON is a member that was not reached or did not answer.
type missingJSON struct {
	Member  string `json:"member"`
	Peer    string `json:"peer"`
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

func describeMissing(missing []patterns.Missing) []missingJSON {
	all := make([]missingJSON, 0, len(missing)) // [] where nobody is missing
	for _, m := range missing {
		all = append(all, missingJSON{m.Member, m.Peer, patterns.OutcomeOf(m.Err).String(), m.Err.Error()})
	}
	return all
}

// named is how many missing members are told by name.
const named = 5

// incomplete explains that not everybody did what was asked; did is "answered"
// or the like.
func incomplete(cluster, did string, count int, missing []patterns.Missing) error {
	if len(missing) == 0 {
		return &statusError{
			code: patterns.ExitStatus(patterns.OutcomeUnreachable),
			text: fmt.Sprintf("%d members of %s %s, but there may be others: not everybody who knows them could be asked; try again", count, cluster, did),
		}
	}
	var names []string
	for _, m := range missing[:min(len(missing), named)] {
		names = append(names, fmt.Sprintf("%s (%s)", m.Member, patterns.OutcomeOf(m.Err)))
	}
	if more := len(missing) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return &statusError{
		code: max(patterns.ExitStatus(patterns.OutcomeOf(missing[0].Err)), 1),
		text: fmt.Sprintf("%d of %d members of %s %s; missing: %s", count, count+len(missing), cluster, did, strings.Join(names, ", ")),
	}
}
