// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/patterns"
)

// publishFlags are what the user asked for.
type publishFlags struct {
	sendFlags
	count int
	rate  float64
	need  int
}

func publishCommand(a App) *cobra.Command {
	var flags publishFlags
	cmd := &cobra.Command{
		Use:   "publish TOPIC (BODY | @FILE | -)",
		Short: "Send messages to the subscribers of a topic",
		Long: `Send messages to the subscribers of a topic. A topic is words joined by
dots.

BODY is the message. @FILE or --file FILE reads it from a file. Write @@ for
text that begins with @. With - each line of standard input is a message, in
order, without its end of line. The command ends when the last message is on
its way to the nodes of the subscribers.

If no node acknowledges a message, standard error says so. With --need N that
is a failure: the command ends at the first message that fewer than N nodes
acknowledge, with "no_members" if all subscribing nodes have answered, and with
"interrupted" or "deadline" if further nodes may have the message.

A gateway counts as one node for all behind it. A node other than the relay's own
whose matching patterns all begin with a wildcard (*.news, >) gets the message,
but does not count.

` + exits("all are on their way", append([]end{{patterns.OutcomeNoMembers, "fewer than --need nodes acknowledged a message"}},
			usual(patterns.OutcomeInterrupted, patterns.OutcomeUnreachable, patterns.OutcomeDeadline, patterns.OutcomeUnauthorized, patterns.OutcomeTooLarge, patterns.OutcomeTooMany)...)...),
		Example: `  arke publish weather.berlin.temperature 21.5
  arke publish orders.new @order.json --need 1
  arke publish load.test hello --count 10000 --rate 500
  tail -f access.log | arke publish web.access -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && flags.file == "" {
				return misuse(cmd, errors.New("missing BODY (- publishes each line of standard input)"))
			}
			return positional(1, 2, "TOPIC and BODY")(cmd, args)
		},
	}
	flags.declare(a, cmd)
	flags.declareBody(cmd, "print how many were sent, and how many nodes took the last, as one JSON object")
	f := cmd.Flags()
	f.IntVar(&flags.count, "count", 0, "send BODY this many times, or at most this many lines (default once, or all lines)")
	f.Float64Var(&flags.rate, "rate", 0, "messages per second at most (default no limit)")
	f.IntVar(&flags.need, "need", 0, "fail if fewer than `N` nodes acknowledge a message (default 0)")
	f.Lookup("timeout").Usage = "give up when one message has waited for this time"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		headers, noHeaders := parseHeaders(flags.headers)
		from, noSource := a.source(args[1:], &flags.sendFlags)
		if err := cmp.Or(noHeaders, noSource, positive(cmd, "count", "rate", "need"), flags.sendFlags.validate()); err != nil {
			return misuse(cmd, err)
		}
		return runPublish(cmd.Context(), a, args[0], a.each(cmd.Context(), from, flags.count), headers, flags)
	}
	return cmd
}

func runPublish(ctx context.Context, a App, topic string, next func() ([]byte, error), headers patterns.Headers, flags publishFlags) error {
	p := &publishing{topic: topic, next: next, headers: headers, flags: flags, begin: time.Now()}
	if isTerminal(a.Stderr) {
		p.progress = func(sent int) { fmt.Fprintf(a.Stderr, "%d sent\n", sent) }
	}
	c, err := flags.relay.attach(ctx, min(flags.timeout, attachTime), nil)
	if err == nil {
		defer c.Close()
		err = p.run(ctx, c)
	}
	if p.unheard > 0 && err == nil {
		fmt.Fprintf(a.Stderr, "arke: %s: %s; patterns that begin with a wildcard do not count\n", topic, p.lost())
	}
	if flags.asJSON {
		return tellPublished(a, p, err)
	}
	return err
}

// tellPublished prints how far it came as JSON. It returns err, unless there is
// worse.
func tellPublished(a App, p *publishing, err error) error {
	o := struct {
		Outcome string  `json:"outcome"`
		Sent    int     `json:"sent"`
		Nodes   int     `json:"nodes"`
		Unheard int     `json:"unheard"`
		Seconds float64 `json:"seconds"`
		Error   string  `json:"error,omitempty"`
	}{accepted, p.sent, p.nodes, p.unheard, time.Since(p.begin).Seconds(), ""}
	if err != nil {
		o.Outcome, o.Error = outcomeOf(err).String(), err.Error()
	}
	return told(cmp.Or(writeJSON(a.Stdout, o), err))
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
	unheard  int // messages that no node took
}

// lost says how many messages no node acknowledged.
func (p *publishing) lost() string {
	switch {
	case p.sent == 1:
		return "no node acknowledged the message"
	case p.unheard == p.sent:
		return fmt.Sprintf("no node acknowledged any of the %d messages", p.sent)
	}
	return fmt.Sprintf("no node acknowledged %d of %d messages", p.unheard, p.sent)
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
		err = p.one(ctx, m, body)
		if mayHave(err) && p.nodes >= p.flags.need { // enough is certain
			err = nil
		} else if p.nodes == 0 && err == nil {
			p.unheard++
		}
		if err != nil {
			size := messageSize(patterns.Message{Headers: p.headers, Body: body})
			return &topicError{topic: p.topic, sent: p.sent, size: size, err: err}
		}
		p.sent++
		if p.nodes < p.flags.need {
			return ended(patterns.OutcomeNoMembers, "%s took message %d of %s, --need is %d: start subscribers, with 'arke subscribe %s'",
				plural.Of(p.nodes, "node"), p.sent, p.topic, p.flags.need, p.topic)
		}
		if p.progress != nil && time.Since(told) > time.Second {
			told = time.Now()
			p.progress(p.sent)
		}
	}
}

// mayHave says whether the message has left, and nodes may have it that have not said so.
func mayHave(err error) bool {
	var late *patterns.DeadlineError
	return errors.Is(err, patterns.ErrInterrupted) || errors.As(err, &late) && late.MaybeRan
}

func (p *publishing) one(ctx context.Context, m patterns.Messenger, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.flags.timeout)
	defer cancel()
	p.nodes = 0
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

// subscribeFlags are what the user asked for.
type subscribeFlags struct {
	queue  string
	signed bool
	count  int
	raw    bool
	asJSON bool
	stayFlags
}

func subscribeCommand(a App) *cobra.Command {
	var flags subscribeFlags
	cmd := &cobra.Command{
		Use:   "subscribe PATTERN",
		Short: "Print what is published on topics, until a signal",
		Long: `Print what is published on the topics that match a pattern, until a signal. In
a pattern * stands for one word, and > at the end for one or more words. Quote
them, or the shell reads them.

A terminal shows each message as "topic: body", with control characters escaped.
A pipe gets the bodies as they are, each on lines of its own. Choose with --raw
and --raw=false.

The command prints "arke subscribe ready" to standard error when the relay has
acknowledged the subscription. If the relay restarts, the command subscribes
again.

Where messages are missing, standard error says how many. With --json it is an
object: "missed" is the number, "exact" says whether the number is exact, and
"reason" is slow (this program), lane, lost, relay, publisher or unsigned. A number
that is not exact is an upper bound; 0 means unknown.

With --signed, unsigned messages are reported as missing; the relay verifies
signatures. Publishers sign only while a subscription demands it.

With --queue each message goes to one subscriber of the group. If that one ends
by --count, the messages that it has not printed are lost. Standard error
says how many.

` + exits("ended by a signal or by --count", staying("what waited was not printed in time after the signal", "too many subscriptions or clients")...),
		Example: `  arke subscribe 'weather.*.temperature'
  arke subscribe 'orders.>' --queue billing --json
  arke subscribe alarm --count 1 && say alarm`,
		Args: positional(1, 1, "PATTERN"),
	}
	flags.declare(a, cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.signed, "signed", false, "take only what its publisher has signed; the rest is missing")
	f.StringVar(&flags.queue, "queue", "", "share the messages with the other subscribers to PATTERN of this `GROUP`; one that subscribes to several patterns with it gets what matches several once for each")
	f.IntVar(&flags.count, "count", 0, "end after this many messages (default never)")
	f.BoolVar(&flags.raw, "raw", !isTerminal(a.Stdout), rawHelp)
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON object per message and per gap")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := positive(cmd, "count"); err != nil {
			return misuse(cmd, err)
		}
		return runSubscribe(a, cmd, args[0], flags)
	}
	return cmd
}

func runSubscribe(a App, cmd *cobra.Command, pattern string, flags subscribeFlags) error {
	ctx := cmd.Context()
	c, _, err := flags.attach(a, cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	p := &printer{App: a, flags: flags, names: relayNames(c), ended: make(chan struct{})}
	s, err := c.Subscribe(ctx, pattern, p, patterns.SubscribeOptions{Queue: flags.queue, Signed: flags.signed})
	if err != nil {
		return &topicError{topic: pattern, pattern: true, err: err}
	}
	fmt.Fprintln(a.Stderr, "arke subscribe ready")
	select {
	case <-p.ended:
		if p.err != nil || flags.queue == "" {
			return p.err
		}
	case <-ctx.Done():
	}
	if err := a.drain(flags.drain, s.Close); err != nil && !errors.Is(err, patterns.ErrClosed) {
		return fmt.Errorf("some messages of %s were not printed: %w", pattern, err)
	}
	if p.surplus > 0 && flags.queue != "" {
		fmt.Fprintf(a.Stderr, "arke: %s more had arrived for this subscriber of the queue and are lost\n", plural.Of(p.surplus, "message"))
	}
	return nil
}

// printer prints what a subscription gets.
type printer struct {
	App
	flags subscribeFlags
	names namer // nil = nobody knows any
	count int
	err   error         // of printing; read after ended
	ended chan struct{} // closed when nothing more is printed

	surplus int // messages that came after the last one; read after Close
}

var _ patterns.Subscriber = (*printer)(nil)

type publicationJSON struct {
	Topic string `json:"topic"`
	From  string `json:"from"`
	*messageJSON
}

type gapJSON struct {
	Missed uint64             `json:"missed"`
	Exact  bool               `json:"exact"`
	Reason patterns.GapReason `json:"reason"`
	From   string             `json:"from,omitempty"`
	Name   string             `json:"name,omitempty"` // of the node it is from
}

// ServePublication implements patterns.Subscriber.
func (p *printer) ServePublication(m patterns.Publication) {
	if p.over() {
		p.surplus++
		return
	}
	if p.flags.asJSON {
		p.err = writeJSON(p.Stdout, publicationJSON{m.Topic, m.From, describeMessage(m.Headers, m.Body)})
	} else {
		p.err = said(p.Stdout, m.Topic, m.Body, p.flags.raw)
	}
	if p.count++; p.err != nil || p.count == p.flags.count {
		close(p.ended)
	}
}

// ServeGap implements patterns.Subscriber.
func (p *printer) ServeGap(g patterns.Gap) {
	if p.over() {
		return
	}
	var names nodeNames
	if g.From != "" && p.names != nil {
		names = namesOf(context.Background(), p.names, g.From)
	}
	if p.flags.asJSON {
		if p.err = writeJSON(p.Stdout, gapJSON{g.Missed, g.Exact, g.Reason, g.From, names[g.From]}); p.err != nil {
			close(p.ended)
		}
		return
	}
	fmt.Fprintf(p.Stderr, "arke: %s (%s)\n", missingHere(g, names), g.Reason)
}

func missingHere(g patterns.Gap, names nodeNames) string {
	of := ""
	if g.From != "" {
		of = " of " + names.node(g.From)
	}
	switch {
	case g.Exact && g.Missed == 1:
		return "1 message" + of + " is missing here"
	case g.Exact:
		return fmt.Sprintf("%d messages%s are missing here", g.Missed, of)
	case g.Missed > 0:
		return fmt.Sprintf("at most %d messages%s are missing here", g.Missed, of)
	}
	return "messages" + of + " may be missing here, their number is unknown"
}

func (p *printer) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
