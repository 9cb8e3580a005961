// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// printAs prints v where JSON was asked for, else a text for people.
func printAs(w io.Writer, asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return writeJSON(w, v)
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// writeAs prints a report where JSON was asked for, else as it is written for people.
func writeAs(w io.Writer, asJSON bool, report interface{ Write(io.Writer) error }) error {
	if asJSON {
		return writeJSON(w, report)
	}
	return report.Write(w)
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

// usage is the outcome of arguments that make no sense.
const usage = "usage"

// tellFailure prints err where JSON was asked for, unless an object of the
// command's own has told it. That the arguments make no sense is told by every
// command, the rest by those that talk to a relay.
func tellFailure(stdout io.Writer, cmd *cobra.Command, args []string, err error) {
	var already *toldError
	var misused *usageError
	switch asJSON := cmd.Flags().Lookup("json"); {
	case errors.As(err, &already):
	case errors.As(err, &misused):
		if wantsJSON(args) {
			_ = writeJSON(stdout, failureJSON{usage, err.Error()})
		}
	case asJSON != nil && asJSON.Value.String() == "true" && cmd.Flags().Lookup("socket") != nil:
		_ = writeJSON(stdout, failureJSON{outcomeOf(err).String(), err.Error()})
	}
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

// rawHelp explains --raw of what prints messages of several senders.
const rawHelp = "print bodies only, as they are (default if standard output is no terminal)"

// said prints what somebody sent, with a name before it unless raw.
func said(w io.Writer, name string, body []byte, raw bool) error {
	if !raw {
		body = []byte(oneLine(name) + ": " + printable(string(body)))
	}
	_, err := w.Write(line(body))
	return err
}

// missingJSON is a member that was not reached or did not answer.
type missingJSON struct {
	Member  string `json:"member"`
	Peer    string `json:"peer"`
	Name    string `json:"name,omitempty"` // of the peer
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

func describeMissing(missing []patterns.Missing, of nodeNames) []missingJSON {
	all := make([]missingJSON, 0, len(missing)) // [] where nobody is missing
	for _, m := range missing {
		all = append(all, missingJSON{m.Member, m.Peer, of[m.Peer], patterns.OutcomeOf(m.Err).String(), m.Err.Error()})
	}
	return all
}

// named is how many missing members are told by name.
const named = 5

// incomplete explains that not everybody did what was asked; did is "answered"
// or the like.
func incomplete(cluster, did string, count int, missing []patterns.Missing, of nodeNames) error {
	if len(missing) == 0 {
		return ended(patterns.OutcomeUnreachable, "%d members of %s %s, but there may be more: not all anchors could be asked; try again",
			count, cluster, did)
	}
	var names []string
	for _, m := range missing[:min(len(missing), named)] {
		names = append(names, fmt.Sprintf("%s of %s: %s", m.Member, of.node(m.Peer), patterns.OutcomeOf(m.Err)))
	}
	if more := len(missing) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return ended(patterns.OutcomeOf(missing[0].Err), "%d of %d members of %s %s; missing: %s",
		count, count+len(missing), cluster, did, strings.Join(names, ", "))
}
