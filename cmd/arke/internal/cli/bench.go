// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
		Short:   "Measure a cluster or a topic",
		Example: "  arke bench request zones --rate 1000 --duration 10s",
		Args:    positional(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.benchRequest(), a.benchSurvey(), a.benchTunnel(), a.benchPublish())
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
		Args: calling(1),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	flags.declare(f, "request")
	f.BoolVar(&flags.idempotent, "idempotent", false, "handling a request twice does no harm: retry if the link is lost")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		return a.runBenchRequest(cmd.Context(), attachment, args[0], flags)
	}
	return cmd
}

// declare adds the flags of every measurement; what is the thing that is done.
func (f *benchFlags) declare(set *pflag.FlagSet, what string) {
	set.Float64Var(&f.rate, "rate", 0, what+"s that begin per second (required)")
	set.DurationVar(&f.duration, "duration", 0, "how long "+what+"s begin (required)")
	set.IntVar(&f.size, "size", 64, "bytes of each message")
	set.IntVar(&f.concurrency, "concurrency", 256, what+"s under way at most")
	set.DurationVar(&f.timeout, "timeout", 5*time.Second, "each "+what+" gives up after this time")
	set.BoolVar(&f.asJSON, "json", false, "print the result as one JSON object")
}

func (f benchFlags) validate() error {
	switch {
	case !(f.rate > 0):
		return errors.New("--rate must be a positive number per second")
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

// body returns what each message carries.
func (f benchFlags) body() []byte {
	body := make([]byte, f.size)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	return body
}

// measure calls do at the rate; each call has its time-out.
func (a App) measure(ctx context.Context, flags benchFlags, do func(ctx context.Context, n int, intended time.Time) (string, error)) (bench.Result, error) {
	cfg := bench.Config{
		Rate:        flags.rate,
		Duration:    flags.duration,
		Concurrency: flags.concurrency,
		Do: func(ctx context.Context, n int, intended time.Time) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, flags.timeout)
			defer cancel()
			return do(ctx, n, intended)
		},
	}
	if isTerminal(a.Stderr) {
		cfg.Progress = func(done, total int) { fmt.Fprintf(a.Stderr, "%d of %d\n", done, total) }
	}
	result, err := bench.Run(ctx, cfg)
	if errors.Is(err, context.Canceled) {
		err = nil // what was measured until then is worth telling
	}
	return result, err
}

// tell prints the result, and returns an error if nothing succeeded.
func (a App) tell(flags benchFlags, result bench.Result, hopeless string) error {
	var err error
	if flags.asJSON {
		err = writeJSON(a.Stdout, result)
	} else {
		err = result.Write(a.Stdout)
	}
	if err == nil {
		err = fruitless(result, hopeless)
	}
	return err
}

// fruitless returns an error if nothing succeeded, which begins with the text.
func fruitless(result bench.Result, hopeless string) error {
	if result.OK() > 0 {
		return nil
	}
	commonest := result.Commonest()
	return told(&statusError{
		code: max(patterns.ExitStatus(commonest), 1),
		text: fmt.Sprintf("%s; the commonest outcome was %s", hopeless, commonest),
	})
}

func (a App) runBenchRequest(ctx context.Context, at *attachment, cluster string, flags benchFlags) error {
	c, err := at.attach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	body := flags.body()
	result, err := a.measure(ctx, flags, func(ctx context.Context, _ int, _ time.Time) (string, error) {
		var how patterns.RequestReport
		opts := []patterns.RequestOption{patterns.Report(&how)}
		if flags.idempotent {
			opts = append(opts, patterns.Idempotent())
		}
		_, err := c.Request(ctx, cluster, patterns.Message{Body: body}, opts...)
		return how.Member, err
	})
	if err != nil {
		return err
	}
	return a.tell(flags, result, fmt.Sprintf("%s never replied: try 'arke request %s' first", cluster, cluster))
}
