// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// benchFlags are what the user asked for.
type benchFlags struct {
	rate        float64
	duration    time.Duration
	size        int
	concurrency int
	timeout     time.Duration
	idempotent  bool
	tunnels     int // of a measurement of tunnels, else 1
	asJSON      bool
}

func benchCommand(a App) *cobra.Command {
	return group(&cobra.Command{
		Use:     "bench",
		Short:   "Measure a cluster or a topic",
		Example: "  arke bench request zones --rate 1000 --duration 10s",
	}, benchRequestCommand(a), benchSurveyCommand(a), benchTunnelCommand(a), benchPublishCommand(a))
}

func benchRequestCommand(a App) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "request CLUSTER",
		Short: "Send requests at a fixed rate and report outcomes and latencies",
		Long: `Send requests at a fixed rate and report outcomes and latencies.

The rate does not adapt. A latency counts from the moment a request was meant
to begin, so a stall of the cluster is seen in full. Latencies are those of
replies, in microseconds. Exit status 0 if there was any reply, else that of
the commonest outcome.`,
		Example: `  arke serve echo --echo &
  arke bench request echo --rate 2000 --duration 10s --size 1024 --json`,
		Args: calling(1),
	}
	f := cmd.Flags()
	flags.declare(f, "request")
	f.BoolVar(&flags.idempotent, "idempotent", false, "handling a request twice does no harm: retry if the link is lost")
	cmd.RunE = flags.measuring(a, cmd, "CLUSTER never replied: try 'arke request CLUSTER' first", func(ctx context.Context, c *client.Client, cluster string) (bench.Result, error) {
		body := flags.body()
		return measure(ctx, a, flags, func(ctx context.Context, _ int, _ time.Time) (string, error) {
			var how patterns.RequestReport
			opts := []patterns.RequestOption{patterns.Report(&how)}
			if flags.idempotent {
				opts = append(opts, patterns.Idempotent())
			}
			_, err := c.Request(ctx, cluster, patterns.Message{Body: body}, opts...)
			return how.Member, err
		})
	})
	return cmd
}

// declare adds the flags of every measurement; what is the thing that is done.
func (f *benchFlags) declare(set *pflag.FlagSet, what string) {
	f.tunnels = 1
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
	case f.size < 0 || f.size > mostBytes:
		return fmt.Errorf("--size must be between 0 and %d bytes", mostBytes)
	case f.concurrency < 1:
		return errors.New("--concurrency must be at least 1")
	case f.timeout <= 0:
		return errors.New("--timeout must be positive, like 5s")
	case f.tunnels < 1:
		return errors.New("--tunnels must be at least 1")
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
func measure(ctx context.Context, a App, flags benchFlags, do func(ctx context.Context, n int, intended time.Time) (string, error)) (bench.Result, error) {
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

// tell prints the result, and returns an error if nothing succeeded, which begins with
// the text.
func tell(a App, flags benchFlags, result bench.Result, hopeless string) error {
	if err := writeAs(a.Stdout, flags.asJSON, result); err != nil || result.OK() > 0 {
		return err
	}
	commonest := result.Commonest()
	return told(ended(commonest, "%s; the commonest outcome was %s", hopeless, commonest))
}

// measuring runs a measurement of a cluster through one client; hopeless is what
// is said if nothing succeeded, of CLUSTER.
func (f *benchFlags) measuring(a App, cmd *cobra.Command, hopeless string, do func(context.Context, *client.Client, string) (bench.Result, error)) func(*cobra.Command, []string) error {
	at := a.attachFlags(cmd)
	return func(cmd *cobra.Command, args []string) error {
		if err := f.validate(); err != nil {
			return misuse(cmd, err)
		}
		c, err := at.attach(cmd.Context(), stayTime, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		result, err := do(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return tell(a, *f, result, strings.ReplaceAll(hopeless, "CLUSTER", args[0]))
	}
}

// benchPublishFlags are what the user asked for beside the usual.
type benchPublishFlags struct {
	benchFlags
	publishers  int
	subscribers int
	socket      string // of the subscribers' relay
}

// quiet is how long nothing may come before what is under way is given up.
const quiet = 2 * time.Second

func benchPublishCommand(a App) *cobra.Command {
	var flags benchPublishFlags
	cmd := &cobra.Command{
		Use:   "publish TOPIC",
		Short: "Publish at a fixed rate and report what comes at subscribers",
		Long: `Publish at a fixed rate and report what arrives. The command has publishers and
subscribers of its own. Each of them attaches to a relay as a program does.

The rate does not adapt. Two latencies count from the moment a message was
meant to be published: until it is on its way to the relay, and, as "delivery",
until each subscriber has it. "missed" counts the copies that a subscriber knows
to be missing. "untold" counts those that nobody knows of, and should be 0.
Exit status 0 if anything was published, else that of the commonest outcome.`,
		Example: `  arke bench publish load.test --rate 5000 --duration 10s
  arke bench publish load.test --rate 1000 --duration 10s --publishers 4 --subscribers 4 --subscriber-socket far.sock`,
		Args: positional(1, 1, "TOPIC"),
	}
	attachment := a.attachFlags(cmd)
	f := cmd.Flags()
	flags.declare(f, "message")
	f.IntVar(&flags.publishers, "publishers", 1, "clients that publish, in turns")
	f.IntVar(&flags.subscribers, "subscribers", 1, "clients that subscribe")
	f.StringVar(&flags.socket, "subscriber-socket", "", "the socket of the subscribers' relay (default the publishers')")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.validate(); err != nil {
			return misuse(cmd, err)
		}
		return runBenchPublish(cmd.Context(), a, attachment, args[0], flags)
	}
	return cmd
}

func (f benchPublishFlags) validate() error {
	switch {
	case f.publishers < 1:
		return errors.New("--publishers must be at least 1")
	case f.subscribers < 0:
		return errors.New("--subscribers must be at least 0")
	case f.size < bench.StampBytes:
		return fmt.Errorf("--size must be at least %d bytes", bench.StampBytes)
	}
	return f.benchFlags.validate()
}

func runBenchPublish(ctx context.Context, a App, at *attachment, topic string, flags benchPublishFlags) error {
	subscriber := *at
	if flags.socket != "" {
		subscriber.socket, subscriber.address = flags.socket, ""
	}
	audience := bench.NewAudience(rand.Uint64())
	listeners, err := several(flags.subscribers, func() (*client.Client, error) { return subscriber.attach(ctx, stayTime, nil) })
	defer closeAll(listeners)
	if err != nil {
		return err
	}
	for _, c := range listeners {
		if _, err := c.Subscribe(ctx, topic, audience, patterns.SubscribeOptions{}); err != nil {
			return &topicError{topic: topic, err: err}
		}
	}
	publishers, err := several(flags.publishers, func() (*client.Client, error) { return at.attach(ctx, stayTime, nil) })
	defer closeAll(publishers)
	if err != nil {
		return err
	}
	begin := time.Now()
	measuring, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	result, err := measure(measuring, a, flags.benchFlags, func(ctx context.Context, n int, intended time.Time) (string, error) {
		body := flags.body()
		audience.Stamp(body, intended)
		err := publishers[n%len(publishers)].Publish(ctx, topic, patterns.Message{Body: body})
		if errors.Is(err, patterns.ErrTopic) {
			stop(err)
		}
		return "", err
	})
	if why := context.Cause(measuring); errors.Is(why, patterns.ErrTopic) {
		err = &topicError{topic: topic, err: why}
	}
	if err != nil {
		return err
	}
	expected := uint64(result.OK()) * uint64(flags.subscribers)
	audience.Await(expected, quiet)
	delivery := audience.Delivery(expected, time.Since(begin))
	result.Delivery = &delivery
	return tell(a, flags.benchFlags, result, fmt.Sprintf("nothing was published on %s: try 'arke publish %s test' first", topic, topic))
}

// several opens so many, and returns those that are open also where one failed.
func several[T any](count int, open func() (T, error)) (all []T, err error) {
	for range count {
		one, err := open()
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

func closeAll(clients []*client.Client) {
	for _, c := range clients {
		c.Close()
	}
}

func benchSurveyCommand(a App) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "survey CLUSTER",
		Short: "Survey a cluster at a fixed rate and report outcomes and latencies",
		Long: `Survey a cluster at a fixed rate and report outcomes and latencies, as bench
request does. A survey succeeds when every member has answered, and its
latency is that of the last answer. Otherwise its outcome is that of the first
member that is missing. A member's share is the number of surveys that it has
answered, of those that succeeded. Exit status 0 if any survey succeeded, else
that of the commonest outcome.`,
		Example: `  arke serve echo --echo &
  arke bench survey echo --rate 200 --duration 10s`,
		Args: calling(1),
	}
	flags.declare(cmd.Flags(), "survey")
	cmd.RunE = flags.measuring(a, cmd, "no survey of CLUSTER was complete: try 'arke survey CLUSTER' first", func(ctx context.Context, c *client.Client, cluster string) (bench.Result, error) {
		body := flags.body()
		var mu sync.Mutex
		answered := map[string]int{} // guarded by mu: surveys that each member answered
		result, err := measure(ctx, a, flags, func(ctx context.Context, _ int, _ time.Time) (string, error) {
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
		if err == nil {
			maps.Copy(result.Members, answered)
		}
		return result, err
	})
	return cmd
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

func benchTunnelCommand(a App) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "tunnel CLUSTER",
		Short: "Send messages through tunnels at a fixed rate and report their echoes",
		Long: `Send messages through tunnels at a fixed rate and report their echoes, as
bench request does. The members must send back each message: arke serve with
--tunnel-echo. Tunnels take turns, message by message. A latency is that of
the echo, from the moment the message was meant to be sent. Exit status 0 if
there was any echo, else that of the commonest outcome.`,
		Example: `  arke serve echo --tunnel-echo &
  arke bench tunnel echo --rate 5000 --duration 10s --size 1024 --tunnels 8`,
		Args: calling(1),
	}
	flags.declare(cmd.Flags(), "message")
	cmd.Flags().IntVar(&flags.tunnels, "tunnels", 1, "tunnels to open")
	cmd.RunE = flags.measuring(a, cmd, "CLUSTER sent nothing back: serve it with 'arke serve CLUSTER --tunnel-echo'", func(ctx context.Context, c *client.Client, cluster string) (bench.Result, error) {
		opened, err := several(flags.tunnels, func() (patterns.Tunnel, error) {
			ctx, cancel := context.WithTimeout(ctx, flags.timeout)
			defer cancel()
			return c.OpenTunnel(ctx, cluster, patterns.Message{})
		})
		lines := bench.NewLines(opened)
		defer lines.Close()
		if err != nil {
			return bench.Result{}, &clusterError{cluster: cluster, err: err}
		}
		body := flags.body()
		return measure(ctx, a, flags, func(ctx context.Context, n int, _ time.Time) (string, error) {
			return lines.Do(ctx, n, body)
		})
	})
	return cmd
}
