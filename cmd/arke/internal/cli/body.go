// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/patterns"
)

// bodyHelp says in a command's help where its message comes from.
const bodyHelp = `BODY is the message. @FILE or --file FILE reads it from a file, and - reads it
from standard input. Write @@ for text that begins with @. Without BODY the
message comes from standard input, if that is a pipe or a file. Otherwise the
message is empty.`

// maxBody bounds what is read from a file or from standard input: the largest
// message that any member may accept, and one byte more, so that more is refused.
const maxBody = 16<<20 + 1

// source is where the body of a message comes from.
type source struct {
	text  string
	file  string // not "": this file
	stdin bool
	// limit bounds reading a standard input that the user did not name; 0 = none.
	limit time.Duration
}

// source returns what BODY, if it is there, and --file stand for.
func (a App) source(args []string, flags *sendFlags) (source, error) {
	switch {
	case flags.file != "" && len(args) > 0:
		return source{}, errors.New("choose one of BODY and --file")
	case flags.file == "-":
		return source{stdin: true}, nil
	case flags.file != "":
		return source{file: flags.file}, nil
	case len(args) == 0:
		return source{stdin: piped(a.Stdin), limit: flags.timeout}, nil
	case args[0] == "-":
		return source{stdin: true}, nil
	case strings.HasPrefix(args[0], "@@"):
		return source{text: args[0][1:]}, nil
	case args[0] == "@":
		return source{}, errors.New("name a file after @, or write @@ for the text @")
	case strings.HasPrefix(args[0], "@"):
		return source{file: args[0][1:]}, nil
	}
	return source{text: args[0]}, nil
}

// message returns the message that goes out.
func (a App) message(cmd *cobra.Command, args []string, flags *sendFlags) (patterns.Message, error) {
	var m patterns.Message
	var err error
	if m.Headers, err = parseHeaders(flags.headers); err != nil {
		return m, misuse(cmd, err)
	}
	s, err := a.source(args, flags)
	if err != nil {
		return m, misuse(cmd, err)
	}
	m.Body, err = a.read(cmd.Context(), s)
	return m, err
}

// read returns the body.
func (a App) read(ctx context.Context, s source) ([]byte, error) {
	switch {
	case s.stdin:
		return a.readStdin(ctx, s.limit)
	case s.file != "":
		return readFile(s.file)
	}
	return []byte(s.text), nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s to send: text that begins with @ is written @@", name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the message: %w", err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the message: %w", err)
	}
	return body, nil
}

func (a App) readStdin(ctx context.Context, limit time.Duration) ([]byte, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	body, err := io.ReadAll(io.LimitReader(a.input(ctx), maxBody))
	switch {
	case err != nil && limit > 0 && errors.Is(err, context.DeadlineExceeded):
		return nil, ended(patterns.OutcomeDeadline,
			"standard input did not end within %s: without BODY the message is read from there; give '' for an empty message, or - to wait for the end", limit)
	case err != nil:
		return nil, fmt.Errorf("reading the message from standard input: %w", err)
	}
	return body, nil
}

// piped reports whether r has something to read that nobody types.
func piped(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return r != nil
	}
	stat, err := f.Stat()
	return err == nil && (stat.Mode().IsRegular() || stat.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0)
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

// each returns the messages that s stands for, one after the other, and nil at
// their end: a text or a file count times, lines of standard input count at most.
func (a App) each(ctx context.Context, s source, count int) func() ([]byte, error) {
	if s.stdin {
		return a.lines(ctx, count)
	}
	sent, body := 0, []byte(nil)
	return func() (_ []byte, err error) {
		if sent == 0 {
			body, err = a.read(ctx, s)
		}
		if sent++; err != nil || sent > max(count, 1) {
			return nil, err
		}
		return append([]byte{}, body...), nil
	}
}

func (a App) lines(ctx context.Context, count int) func() ([]byte, error) {
	lines := bufio.NewScanner(a.input(ctx))
	lines.Buffer(nil, maxBody)
	read := 0
	return func() ([]byte, error) {
		if read++; count > 0 && read > count {
			return nil, nil
		}
		switch {
		case lines.Scan():
			return append([]byte{}, lines.Bytes()...), nil
		case errors.Is(lines.Err(), bufio.ErrTooLong):
			return nil, &lineError{read}
		case lines.Err() != nil:
			return nil, fmt.Errorf("reading standard input: %w", lines.Err())
		}
		return nil, nil
	}
}

// lineError says that a line of standard input is longer than any message.
type lineError struct{ line int }

func (e *lineError) Error() string {
	return fmt.Sprintf("line %d of standard input is too long: a message has at most %s, with its headers", e.line, sizeText(topicBytes))
}

func (e *lineError) Unwrap() error { return patterns.ErrTooLarge }

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

const (
	// topicBytes bounds what is published, and is what a member takes unless it
	// says otherwise; mostBytes is the most that it can say.
	topicBytes = 1 << 20
	mostBytes  = 16 << 20
	// headerBytes bounds the headers of any message.
	headerBytes = 16 << 10
)

// messageSize is the size of a message as limits count it, or a few bytes less.
func messageSize(m patterns.Message) int {
	n := len(m.Body)
	for _, h := range m.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// sizeText writes a number of bytes for people.
func sizeText(n int) string {
	switch {
	case n > mostBytes: // and not read to its end
		return "more than " + sizeText(mostBytes)
	case n < 1<<10:
		return plural.Of(n, "byte")
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
}
