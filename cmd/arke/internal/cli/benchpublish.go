// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// benchPublishFlags are what the user asked for beside the usual.
type benchPublishFlags struct {
	benchFlags
	publishers  int
	subscribers int
	socket      string // of the subscribers' relay
}

// quiet is how long nothing may come before what is under way is given up.
const quiet = 2 * time.Second

func (a App) benchPublish() *cobra.Command {
	var flags benchPublishFlags
	cmd := &cobra.Command{
		Use:   "publish TOPIC",
		Short: "Publish at a fixed rate and report what comes at subscribers",
		Long: `Publish at a fixed rate and report what comes at subscribers of its own, each
of which attaches to a relay as a program does; so does each publisher.

The rate does not adapt. Two latencies count from the moment a message was
meant to be published: until it is on its way to the relay, and, as "delivery",
until each subscriber has it. Copies that subscribers were told
to be missing are "missed"; those of which nobody heard are "untold", and
there should be none. Exit status 0 if anything was published, else that of
the commonest outcome.`,
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
		return a.runBenchPublish(cmd.Context(), attachment, args[0], flags)
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

func (a App) runBenchPublish(ctx context.Context, at *attachment, topic string, flags benchPublishFlags) error {
	subscriber := *at
	if flags.socket != "" {
		subscriber.socket, subscriber.address = flags.socket, ""
	}
	audience := bench.NewAudience(rand.Uint64())
	listeners, err := attachAll(ctx, &subscriber, flags.subscribers)
	defer closeAll(listeners)
	if err != nil {
		return err
	}
	for _, c := range listeners {
		if _, err := c.Subscribe(ctx, topic, audience, patterns.SubscribeOptions{}); err != nil {
			return &topicError{topic: topic, err: err}
		}
	}
	publishers, err := attachAll(ctx, at, flags.publishers)
	defer closeAll(publishers)
	if err != nil {
		return err
	}
	begin := time.Now()
	measuring, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	result, err := a.measure(measuring, flags.benchFlags, func(ctx context.Context, n int, intended time.Time) (string, error) {
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
	return a.tellDelivery(flags, result, audience.Delivery(expected, time.Since(begin)), topic)
}

func (a App) tellDelivery(flags benchPublishFlags, result bench.Result, delivery bench.Delivery, topic string) error {
	var err error
	if flags.asJSON {
		err = writeDelivery(a, result, delivery)
	} else if err = result.Write(a.Stdout); err == nil {
		err = delivery.Write(a.Stdout)
	}
	if err == nil {
		err = fruitless(result, fmt.Sprintf("nothing was published on %s: try 'arke publish %s test' first", topic, topic))
	}
	return err
}

// writeDelivery prints the result's object with one more key at its end.
func writeDelivery(a App, result bench.Result, delivery bench.Delivery) error {
	object, err := json.Marshal(result)
	if err != nil {
		return err
	}
	more, err := json.Marshal(map[string]bench.Delivery{"delivery": delivery})
	if err != nil {
		return err
	}
	object[len(object)-1] = ','
	return writeJSON(a.Stdout, json.RawMessage(append(object, more[1:]...)))
}

// attachAll attaches so many clients, and returns those that are also where
// one failed.
func attachAll(ctx context.Context, at *attachment, count int) ([]*client.Client, error) {
	var all []*client.Client
	for range count {
		c, err := at.attach(ctx, nil)
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

func closeAll(clients []*client.Client) {
	for _, c := range clients {
		c.Close()
	}
}
