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

func requestCommand(a App) *cobra.Command {
	var flags requestFlags
	var raw bool
	cmd := &cobra.Command{
		Use:   "request CLUSTER [BODY | @FILE | -]",
		Short: "Ask one member of a cluster and print its reply",
		Long: `Ask one member of a cluster and print its reply. On a terminal the reply's
control characters are escaped, unless --raw is given. Elsewhere the reply is
printed byte for byte.

` + bodyHelp + `

` + exits("reply", calls()...),
		Example: `  arke request greeting world
  arke request zones '{"transitions":"Europe/Berlin","year":2024}' --json
  arke request resize @photo.jpg --header width=640 --timeout 30s >small.jpg`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	flags.declareBody(cmd, "print the outcome as one JSON object")
	cmd.Flags().BoolVar(&raw, "raw", !isTerminal(a.Stdout), "print the reply as it is (default if standard output is no terminal)")
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
			return tellOutcome(a, describeMessage(reply.Headers, reply.Body), err, how, took)
		case err != nil:
			return err
		}
		return printReply(a, reply.Body, raw)
	})
	return cmd
}

// printReply writes the bytes, and ends the line where a person reads them.
func printReply(a App, body []byte, raw bool) error {
	if !raw {
		body = []byte(printable(string(body)))
	}
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
func tellOutcome(a App, reply *messageJSON, err error, how patterns.RequestReport, took time.Duration) error {
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
	return told(cmp.Or(writeJSON(a.Stdout, o), err))
}

func remoteOf(err error) *remoteErrorJSON {
	var remote *patterns.RemoteError
	if !errors.As(err, &remote) {
		return nil
	}
	return &remoteErrorJSON{remote.Code, remote.Message}
}

// sendFlags are what the user asked for of anything that sends messages.
type sendFlags struct {
	relay   *attachment
	timeout time.Duration
	headers []string
	file    string
	asJSON  bool
}

// declare adds the flags to cmd.
func (flags *sendFlags) declare(a App, cmd *cobra.Command) {
	flags.relay = a.attachFlags(cmd)
	f := cmd.Flags()
	f.DurationVar(&flags.timeout, "timeout", 5*time.Second, "give up after this time")
	f.StringArrayVar(&flags.headers, "header", nil, "a header of the message, `KEY=VALUE`; may be repeated")
}

// declareBody adds the flags of commands that have a BODY; prints says what --json does.
func (flags *sendFlags) declareBody(cmd *cobra.Command, prints string) {
	cmd.Flags().StringVar(&flags.file, "file", "", "read the message from this `FILE`; - is standard input")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, prints)
}

func (flags *sendFlags) validate() error {
	if flags.timeout <= 0 {
		return fmt.Errorf("--timeout %s is not positive", flags.timeout)
	}
	return nil
}

// send is the part of a command that is its own: it sends m to the cluster,
// within ctx, and prints what comes of it.
type send func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error

// sending runs commands that send one message to the cluster that is the first
// argument; those with --file have a BODY. The time-out is that of the command:
// attaching is part of it.
func (a App) sending(flags *sendFlags, do send) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		var m patterns.Message
		var err error
		if cmd.Flags().Lookup("file") != nil {
			m, err = a.message(cmd, args[1:], flags)
		} else if m.Headers, err = parseHeaders(flags.headers); err != nil {
			err = misuse(cmd, err)
		}
		if err != nil {
			return err
		}
		err = flags.relay.within(cmd.Context(), flags.timeout, func(ctx context.Context, c *client.Client) error {
			return do(ctx, c, args[0], m)
		})
		var call *clusterError
		if errors.As(err, &call) {
			call.size = messageSize(m)
		}
		return err
	}
}

func surveyCommand(a App) *cobra.Command {
	var flags sendFlags
	var raw bool
	cmd := &cobra.Command{
		Use:   "survey CLUSTER [BODY | @FILE | -]",
		Short: "Ask every member of a cluster and print the replies as they come",
		Long: `Ask every member of a cluster and print the replies as they come. Standard
error names each member that refuses.

A terminal shows each reply as "member: body", with control characters escaped.
A pipe gets the bodies as they are, each on lines of its own. Choose with --raw
and --raw=false.

` + bodyHelp + `

With --json the command prints one object for each answer. The last object says
whether the survey was "complete", the number of "replies", and the "missing" members
and why.

` + exits("everybody has answered, with a reply or a refusal", calls(end{patterns.OutcomeRemoteError, "all refused"},
			end{patterns.OutcomeNoMembers, "nobody serves the cluster"}, end{patterns.OutcomeDeadline, "late"})...) + `
Where several are missing it is that of the first.`,
		Example: `  arke survey thermometers 'how warm?' --timeout 1s
  arke survey workers status --json | jq -c 'select(.body)'`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	flags.declareBody(cmd, "print one JSON object per answer, and one at the end")
	cmd.Flags().BoolVar(&raw, "raw", !isTerminal(a.Stdout), rawHelp)
	cmd.RunE = a.sending(&flags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		s := &survey{App: a, cluster: cluster, raw: raw, asJSON: flags.asJSON, begin: time.Now()}
		result, err := c.Survey(ctx, cluster, m, s.each, patterns.SurveyOptions{})
		if err != nil {
			return &clusterError{cluster: cluster, err: err}
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return s.end(result, namesOfMissing(ctx, relayNames(c), result.Missing))
	})
	return cmd
}

// survey prints one survey.
type survey struct {
	App
	cluster string
	raw     bool
	asJSON  bool
	begin   time.Time
	refused int
}

// answerJSON is one member's answer.
type answerJSON struct {
	Outcome string `json:"outcome"`
	Member  string `json:"member"`
	Peer    string `json:"peer"`
	Micros  int64  `json:"us"`
	*messageJSON
	Remote *remoteErrorJSON `json:"remote,omitempty"`
}

func (s *survey) each(r patterns.SurveyReply) error {
	if r.Err != nil {
		s.refused++
	}
	if s.asJSON {
		o := answerJSON{Outcome: patterns.OutcomeOf(r.Err).String(), Member: r.Member, Peer: r.Peer, Micros: time.Since(s.begin).Microseconds()}
		if r.Err == nil {
			o.messageJSON = describeMessage(r.Message.Headers, r.Message.Body)
		} else {
			o.Remote = remoteOf(r.Err)
		}
		return writeJSON(s.Stdout, o)
	}
	if r.Err != nil {
		fmt.Fprintf(s.Stderr, "arke: member %s: %s\n", r.Member, (&clusterError{cluster: s.cluster, err: r.Err}).explain())
		return nil
	}
	return said(s.Stdout, r.Member, r.Message.Body, s.raw)
}

// end prints how it ended, and returns an error unless all is well.
func (s *survey) end(r patterns.SurveyResult, names nodeNames) error {
	if s.asJSON {
		err := writeJSON(s.Stdout, struct {
			Complete bool          `json:"complete"`
			Replies  int           `json:"replies"`
			Missing  []missingJSON `json:"missing"`
			Micros   int64         `json:"us"`
		}{r.Complete, r.Replies, describeMissing(r.Missing, names), time.Since(s.begin).Microseconds()})
		if err != nil {
			return err
		}
	}
	switch {
	case !r.Complete:
		return told(incomplete(s.cluster, "answered", r.Replies, r.Missing, names))
	case r.Replies > 0 && s.refused == r.Replies:
		return told(ended(patterns.OutcomeRemoteError, "every member of %s refused (%d)", s.cluster, r.Replies))
	}
	return nil
}

func pushCommand(a App) *cobra.Command {
	var flags requestFlags
	cmd := &cobra.Command{
		Use:   "push CLUSTER [BODY | @FILE | -]",
		Short: "Hand a message to one member of a cluster, without a reply",
		Long: `Hand a message to one member of a cluster, without a reply. The command ends
when the message is in that member's queue. The member's work comes later.

` + bodyHelp + `

` + exits("accepted", calls(end{patterns.OutcomeRemoteError, "the member takes no pushes"},
			end{patterns.OutcomeInterrupted, "interrupted (it may have been accepted)"})...),
		Example: `  arke push thumbnails @photo-17.jpg
  arke push orders @order.json --wait --timeout 1m`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	flags.declareBody(cmd, "print the outcome as one JSON object")
	cmd.RunE = a.sending(&flags.sendFlags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		var how patterns.RequestReport
		begin := time.Now()
		err := c.Push(ctx, cluster, m, flags.options(&how)...)
		took := time.Since(begin)
		if err != nil {
			err = &clusterError{cluster: cluster, err: err, one: true}
		}
		if flags.asJSON {
			return tellOutcome(a, nil, err, how, took)
		}
		return err
	})
	return cmd
}

func broadcastCommand(a App) *cobra.Command {
	var flags sendFlags
	cmd := &cobra.Command{
		Use:   "broadcast CLUSTER [BODY | @FILE | -]",
		Short: "Hand a message to every member of a cluster, without replies",
		Long: `Hand a message to every member of a cluster, at most once each, and say how
many took it. The command ends when the message is in their queues. Their work
comes later.

` + bodyHelp + `

` + exits("everybody took it", calls(end{patterns.OutcomeRemoteError, "a member takes no broadcasts"},
			end{patterns.OutcomeNoMembers, "nobody serves the cluster"}, end{patterns.OutcomeDeadline, "late"})...) + `
Where several are missing it is that of the first.`,
		Example: `  arke broadcast caches 'drop user-17'
  arke broadcast config --file config.json --json`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	flags.declareBody(cmd, "print the result as one JSON object")
	cmd.RunE = a.sending(&flags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		begin := time.Now()
		result, err := c.Broadcast(ctx, cluster, m)
		if err != nil {
			return &clusterError{cluster: cluster, err: err}
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return tellBroadcast(a, cluster, result, namesOfMissing(ctx, relayNames(c), result.Missing), flags.asJSON, time.Since(begin))
	})
	return cmd
}

// tellBroadcast prints who took it, and returns an error unless all did.
func tellBroadcast(a App, cluster string, result patterns.BroadcastResult, names nodeNames, asJSON bool, took time.Duration) error {
	err := printAs(a.Stdout, asJSON, struct {
		Complete bool          `json:"complete"`
		Members  int           `json:"members"`
		Nodes    int           `json:"nodes"`
		Missing  []missingJSON `json:"missing"`
		Micros   int64         `json:"us"`
	}{result.Complete, result.Members, result.Nodes, describeMissing(result.Missing, names), took.Microseconds()},
		"taken by %s on %s\n", plural.Of(result.Members, "member"), plural.Of(result.Nodes, "node"))
	if err == nil && !result.Complete {
		err = told(incomplete(cluster, "took it", result.Members, result.Missing, names))
	}
	return err
}
