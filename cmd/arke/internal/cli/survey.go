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

func (a App) survey() *cobra.Command {
	var flags sendFlags
	cmd := &cobra.Command{
		Use:   "survey CLUSTER [BODY | -]",
		Short: "Ask every member of a cluster and print the replies as they come",
		Long: `Ask every member of a cluster and print the replies as they come, each on
lines of its own. A member that refuses is told on standard error.

With --json, one object for each answer, and at last one with "complete", the
number of "replies" and who is "missing" and why. Exit status 0 if everybody
has answered, with a reply or a refusal; 2 if all refused; 3 nobody serves the
cluster; else that of the first missing member: 4 overloaded, 5 unreachable,
6 late, 7 interrupted, 8 unauthorized, 9 too large, 1 anything else.`,
		Example: `  arke survey thermometers 'how warm?' --timeout 1s
  arke survey workers status --json | jq -c 'select(.body)'`,
		Args: calling(2),
	}
	flags.declare(a, cmd)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object per answer, and one at the end")
	cmd.RunE = a.sending(&flags, func(ctx context.Context, c *client.Client, cluster string, m patterns.Message) error {
		s := &survey{App: a, cluster: cluster, asJSON: flags.asJSON, begin: time.Now()}
		result, err := c.Survey(ctx, cluster, m, s.each, patterns.SurveyOptions{})
		if err != nil {
			return &clusterError{cluster: cluster, err: err}
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return s.end(result)
	})
	return cmd
}

// survey prints one survey.
type survey struct {
	App
	cluster string
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
		fmt.Fprintf(s.Stderr, "arke: member %s: %s\n", r.Member, explainCall(&clusterError{cluster: s.cluster, err: r.Err}))
		return nil
	}
	_, err := s.Stdout.Write(line(r.Message.Body))
	return err
}

// end prints how it ended, and returns an error unless all is well.
func (s *survey) end(r patterns.SurveyResult) error {
	if s.asJSON {
		err := writeJSON(s.Stdout, struct {
			Complete bool          `json:"complete"`
			Replies  int           `json:"replies"`
			Missing  []missingJSON `json:"missing"`
			Micros   int64         `json:"us"`
		}{r.Complete, r.Replies, describeMissing(r.Missing), time.Since(s.begin).Microseconds()})
		if err != nil {
			return err
		}
	}
	switch {
	case !r.Complete:
		return told(incomplete(s.cluster, "answered", r.Replies, r.Missing))
	case r.Replies > 0 && s.refused == r.Replies:
		return told(&statusError{
			code: patterns.ExitStatus(patterns.OutcomeRemoteError),
			text: fmt.Sprintf("every member of %s refused (%d)", s.cluster, r.Replies),
		})
	}
	return nil
}
