// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/patterns"
)

func (a App) benchSurvey() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "survey CLUSTER",
		Short: "Survey a cluster at a fixed rate and report outcomes and latencies",
		Long: `Survey a cluster at a fixed rate and report outcomes and latencies, as bench
request does. A survey succeeds when every member has answered, and its
latency is that of the last answer; otherwise its outcome is that of the first
member that is missing. A member's share is in how many of the surveys that
succeeded it has answered. Exit status 0 if any survey succeeded, else that of
the commonest outcome.`,
		Example: `  arke serve echo --echo &
  arke bench survey echo --rate 200 --duration 10s`,
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	flags.declare(cmd.Flags(), "survey")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		return a.runBenchSurvey(cmd.Context(), attachment, args[0], flags)
	}
	return cmd
}

func (a App) runBenchSurvey(ctx context.Context, at *attachment, cluster string, flags benchFlags) error {
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	body := flags.body()
	var mu sync.Mutex
	answered := map[string]int{} // guarded by mu: surveys that each member answered
	result, err := a.measure(ctx, flags, func(ctx context.Context, _ int, _ time.Time) (string, error) {
		var members []string
		r, err := c.Survey(ctx, cluster, patterns.Message{Body: body}, func(r patterns.SurveyReply) error {
			members = append(members, r.Member)
			return r.Err
		}, patterns.SurveyOptions{})
		if err == nil {
			err = lacking(r)
		}
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range members {
				answered[m]++
			}
		}
		return "", err
	})
	if err != nil {
		return err
	}
	maps.Copy(result.Members, answered)
	return a.tell(flags, result, fmt.Sprintf("no survey of %s was complete: try 'arke survey %s' first", cluster, cluster))
}

// lacking returns why a survey is not complete, nil if it is.
func lacking(r patterns.SurveyResult) error {
	switch {
	case r.Complete:
		return nil
	case len(r.Missing) > 0:
		return r.Missing[0].Err
	}
	return patterns.ErrUnreachable
}
