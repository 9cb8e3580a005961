// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/patterns"
)

// benchFlags are what the user asked for.
type benchFlags struct {
	rate        float64
	duration    time.Duration
	size        int
	concurrency int
	timeout     time.Duration
	idempotent  bool
	asJSON      bool
}

func (a App) bench() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure a cluster",
		Example: "  arke bench request zones --rate 1000 --duration 10s",
		Args:    positional(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.benchRequest())
	return cmd
}

func (a App) benchRequest() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "request CLUSTER",
		Short: "Send requests at a fixed rate and report outcomes and latencies",
		Long: `Send requests at a fixed rate and report outcomes and latencies.

The rate does not adapt: a latency counts from the moment a request was meant
to begin, so that a stall of the cluster is seen in full. Latencies are of
replies, in microseconds. Exit status 0 if there was any reply, else that of
the commonest outcome.`,
		Example: `  arke serve echo --echo &
  arke bench request echo --rate 2000 --duration 10s --size 1024 --json`,
		Args: positional(1, 1, "CLUSTER"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	f.Float64Var(&flags.rate, "rate", 0, "requests that begin per second (required)")
	f.DurationVar(&flags.duration, "duration", 0, "how long requests begin (required)")
	f.IntVar(&flags.size, "size", 64, "bytes of each message")
	f.IntVar(&flags.concurrency, "concurrency", 256, "requests under way at most")
	f.DurationVar(&flags.timeout, "timeout", 5*time.Second, "each request gives up after this time")
	f.BoolVar(&flags.idempotent, "idempotent", false, "handling a request twice does no harm: retry if the link is lost")
	f.BoolVar(&flags.asJSON, "json", false, "print the result as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		return a.runBenchRequest(cmd.Context(), attachment, args[0], flags)
	}
	return cmd
}

func (f benchFlags) validate() error {
	switch {
	case !(f.rate > 0):
		return errors.New("--rate must be a positive number of requests per second")
	case f.duration <= 0:
		return errors.New("--duration must be positive, like 10s")
	case f.size < 0 || f.size > maxStdin-1:
		return fmt.Errorf("--size must be between 0 and %d bytes", maxStdin-1)
	case f.concurrency < 1:
		return errors.New("--concurrency must be at least 1")
	case f.timeout <= 0:
		return errors.New("--timeout must be positive, like 5s")
	}
	return nil
}

func (a App) runBenchRequest(ctx context.Context, at *attachment, cluster string, flags benchFlags) error {
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	body := make([]byte, flags.size)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	cfg := bench.Config{
		Rate:        flags.rate,
		Duration:    flags.duration,
		Concurrency: flags.concurrency,
		Do: func(ctx context.Context, _ int) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, flags.timeout)
			defer cancel()
			var how patterns.Outcome
			opts := []patterns.RequestOption{patterns.Report(&how)}
			if flags.idempotent {
				opts = append(opts, patterns.Idempotent())
			}
			_, err := c.Request(ctx, cluster, patterns.Message{Body: body}, opts...)
			return how.Member, err
		},
	}
	if isTerminal(a.Stderr) {
		cfg.Progress = func(done, total int) { fmt.Fprintf(a.Stderr, "%d of %d\n", done, total) }
	}
	result, err := bench.Run(ctx, cfg)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if flags.asJSON {
		err = writeJSON(a.Stdout, result)
	} else {
		err = result.Write(a.Stdout)
	}
	if err == nil && result.OK() == 0 {
		commonest := result.Commonest()
		return &statusError{
			code: max(commonest.ExitCode(), 1),
			text: fmt.Sprintf("%s never replied; the commonest outcome was %s: try 'arke request %s' first", cluster, commonest, cluster),
		}
	}
	return err
}
