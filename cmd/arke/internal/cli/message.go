// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
)

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
