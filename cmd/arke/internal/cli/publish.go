// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
)

// publishFlags are what the user asked for.
type publishFlags struct {
	sendFlags
	count int
	rate  float64
}

func (a App) publish() *cobra.Command {
	var flags publishFlags
	cmd := &cobra.Command{
		Use:   "publish TOPIC (BODY | -)",
		Short: "Send messages to whoever subscribes to a topic",
		Long: `Send messages to whoever subscribes to a topic. A topic is words joined by
dots. That nobody listens is no error.

BODY is the message; - makes each line of standard input a message, in order,
without its end of line. Each is confirmed: it ends when the last message is on
its way to the subscribers' nodes; who misses one there is told so. Exit status: 0 all are
on their way, 5 unreachable, 6 deadline, 8 unauthorized, 9 too large,
1 anything else.`,
		Example: `  arke publish weather.berlin.temperature 21.5
  arke publish load.test hello --count 10000 --rate 500
  tail -f access.log | arke publish web.access -`,
		Args: positional(2, 2, "TOPIC", "BODY"),
	}
	flags.declare(a, cmd)
	f := cmd.Flags()
	f.IntVar(&flags.count, "count", 0, "send BODY so many times, or so many lines at most (default once, or all lines)")
	f.Float64Var(&flags.rate, "rate", 0, "messages per second at most (default no limit)")
	f.Lookup("timeout").Usage = "give up when one message has waited for so long"
	f.BoolVar(&flags.asJSON, "json", false, "print how many were sent, and how many nodes took the last, as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		headers, err := parseHeaders(flags.headers)
		if err == nil {
			err = positive(cmd, "count", "rate")
		}
		if err == nil {
			err = flags.sendFlags.validate()
		}
		if err != nil {
			return misuse(cmd, err)
		}
		return a.runPublish(cmd.Context(), args[0], a.bodies(cmd.Context(), args[1], flags.count), headers, flags)
	}
	return cmd
}

// bodies returns the source of what is to be sent: nil at its end.
func (a App) bodies(ctx context.Context, arg string, count int) func() ([]byte, error) {
	sent := 0
	if arg != "-" {
		return func() ([]byte, error) {
			if sent++; sent > max(count, 1) {
				return nil, nil
			}
			return []byte(arg), nil
		}
	}
	lines := bufio.NewScanner(a.input(ctx))
	lines.Buffer(nil, maxStdin)
	return func() ([]byte, error) {
		if sent++; count > 0 && sent > count {
			return nil, nil
		}
		switch {
		case lines.Scan():
			return append([]byte{}, lines.Bytes()...), nil
		case errors.Is(lines.Err(), bufio.ErrTooLong):
			return nil, &lineError{sent}
		case lines.Err() != nil:
			return nil, fmt.Errorf("reading standard input: %w", lines.Err())
		}
		return nil, nil
	}
}

// lineError says that a line of standard input is longer than any message.
type lineError struct{ line int }

func (e *lineError) Error() string {
	return fmt.Sprintf("line %d of standard input is too long: a message has at most 1 MiB, with its headers", e.line)
}

func (e *lineError) Unwrap() error { return patterns.ErrTooLarge }

func (a App) runPublish(ctx context.Context, topic string, next func() ([]byte, error), headers patterns.Headers, flags publishFlags) error {
	p := &publishing{topic: topic, next: next, headers: headers, flags: flags, begin: time.Now()}
	if isTerminal(a.Stderr) {
		p.progress = func(sent int) { fmt.Fprintf(a.Stderr, "%d sent\n", sent) }
	}
	attaching, cancel := context.WithTimeout(ctx, min(flags.timeout, attachTime))
	defer cancel()
	c, err := flags.relay.attach(attaching, nil)
	if err == nil {
		defer c.Close()
		err = p.run(ctx, c)
	}
	if flags.asJSON {
		return a.tellPublished(p, err)
	}
	return err
}

// tellPublished prints how far it came as JSON. It returns err, unless there is
// worse.
func (a App) tellPublished(p *publishing, err error) error {
	o := struct {
		Outcome string  `json:"outcome"`
		Sent    int     `json:"sent"`
		Nodes   int     `json:"nodes"`
		Seconds float64 `json:"seconds"`
		Error   string  `json:"error,omitempty"`
	}{accepted, p.sent, p.nodes, time.Since(p.begin).Seconds(), ""}
	if err != nil {
		o.Outcome, o.Error = outcomeOf(err).String(), err.Error()
	}
	if jsonErr := writeJSON(a.Stdout, o); jsonErr != nil {
		return told(jsonErr)
	}
	return told(err)
}

// publishing is one run of the command.
type publishing struct {
	topic    string
	next     func() ([]byte, error)
	headers  patterns.Headers
	flags    publishFlags
	progress func(sent int) // nil = none
	begin    time.Time
	sent     int
	nodes    int // that took the last message
}

func (p *publishing) run(ctx context.Context, m patterns.Messenger) error {
	told := p.begin
	for {
		if !p.pace(ctx) {
			return &topicError{topic: p.topic, sent: p.sent, err: ctx.Err()}
		}
		body, err := p.next()
		switch {
		case err != nil && ctx.Err() != nil:
			return &topicError{topic: p.topic, sent: p.sent, err: ctx.Err()}
		case err != nil || body == nil:
			return err
		}
		if err := p.one(ctx, m, body); err != nil {
			return &topicError{topic: p.topic, sent: p.sent, err: err}
		}
		p.sent++
		if p.progress != nil && time.Since(told) > time.Second {
			told = time.Now()
			p.progress(p.sent)
		}
	}
}

func (p *publishing) one(ctx context.Context, m patterns.Messenger, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.flags.timeout)
	defer cancel()
	return m.Publish(ctx, p.topic, patterns.Message{Headers: p.headers, Body: body}, patterns.Confirm(&p.nodes))
}

// pace waits until the next message may go, and reports false if ctx ended
// before.
func (p *publishing) pace(ctx context.Context) bool {
	if p.flags.rate > 0 {
		due := p.begin.Add(time.Duration(float64(p.sent) / p.flags.rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err() == nil
}
