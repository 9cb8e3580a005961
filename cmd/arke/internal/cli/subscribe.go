// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
)

// subscribeFlags are what the user asked for.
type subscribeFlags struct {
	queue    string
	count    int
	asJSON   bool
	logLevel string
}

func (a App) subscribe() *cobra.Command {
	var flags subscribeFlags
	cmd := &cobra.Command{
		Use:   "subscribe PATTERN",
		Short: "Print what is published on topics, until a signal",
		Long: `Print what is published on the topics that match a pattern, each message on
lines of its own, until a signal. In patterns * stands for one word and >, at
the end, for one or more; quote them, or the shell reads them.

Prints "arke subscribe ready" to standard error when the subscription is
acknowledged. If the relay restarts, it subscribes again by itself. Messages
that are missing are told, with their number, on standard error, where they
would have stood; with --json as an object with "missed", whether that number
is "exact" (if not, it is the most; 0 then means that nobody knows), and the
"reason": slow (this program), lane, lost or relay. Of the subscribers with the
same --queue each message goes to one; what had come for one that ends by
--count goes to nobody, and is counted on standard error.

Exit status: 0 ended by a signal or by --count, 5 no relay, 6 what waited was
not printed in time after the signal, 8 unauthorized, 14 too many
subscriptions, 1 anything else.`,
		Example: `  arke subscribe 'weather.*.temperature'
  arke subscribe 'orders.>' --queue billing --json
  arke subscribe alarm --count 1 && say alarm`,
		Args: positional(1, 1, "PATTERN"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.queue, "queue", "", "share the messages with the other subscribers of this `GROUP`")
	f.IntVar(&flags.count, "count", 0, "end after so many messages (default never)")
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON object per message and per gap")
	f.StringVar(&flags.logLevel, "log-level", "info", logLevelHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := positive(cmd, "count"); err != nil {
			return misuse(cmd, err)
		}
		return a.runSubscribe(cmd, attachment, args[0], flags)
	}
	return cmd
}

func (a App) runSubscribe(cmd *cobra.Command, at *attachment, pattern string, flags subscribeFlags) error {
	ctx := cmd.Context()
	c, _, err := a.attachLogging(cmd, at, flags.logLevel)
	if err != nil {
		return err
	}
	defer c.Close()
	p := &printer{App: a, flags: flags, ended: make(chan struct{})}
	s, err := c.Subscribe(ctx, pattern, p, patterns.SubscribeOptions{Queue: flags.queue})
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
	drain, cancel := context.WithTimeout(a.Abort, drainTime)
	defer cancel()
	if err := s.Close(drain); err != nil && !errors.Is(err, patterns.ErrClosed) {
		return fmt.Errorf("some messages of %s were not printed: %w", pattern, err)
	}
	if p.surplus > 0 && flags.queue != "" {
		fmt.Fprintf(a.Stderr, "arke: %s more had come for this one of the queue, and nobody gets them\n", plural(p.surplus, "message"))
	}
	return nil
}

// printer prints what a subscription gets.
type printer struct {
	App
	flags subscribeFlags
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
}

// ServePublication implements patterns.Subscriber.
func (p *printer) ServePublication(m *patterns.Publication) {
	if p.over() {
		p.surplus++
		return
	}
	if p.flags.asJSON {
		p.err = writeJSON(p.Stdout, publicationJSON{m.Topic, m.From, describeMessage(m.Headers, m.Body)})
	} else {
		_, p.err = p.Stdout.Write(line(m.Body))
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
	if p.flags.asJSON {
		if p.err = writeJSON(p.Stdout, gapJSON{g.Missed, g.Exact, g.Reason, g.From}); p.err != nil {
			close(p.ended)
		}
		return
	}
	fmt.Fprintf(p.Stderr, "arke: %s (%s)\n", missingHere(g), g.Reason)
}

func missingHere(g patterns.Gap) string {
	switch {
	case g.Exact && g.Missed == 1:
		return "1 message is missing here"
	case g.Exact:
		return fmt.Sprintf("%d messages are missing here", g.Missed)
	case g.Missed > 0:
		return fmt.Sprintf("at most %d messages are missing here", g.Missed)
	}
	return "messages may be missing here, nobody knows how many"
}

func (p *printer) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
