// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

// ear is a subscription that writes down what it hears of one publisher, and when.
type ear struct {
	mu      sync.Mutex
	numbers []uint64
	missed  uint64
	twice   []string
	last    time.Time
	longest time.Duration // between two messages
}

// ServePublication implements patterns.Subscriber.
func (e *ear) ServePublication(p patterns.Publication) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, now := binary.BigEndian.Uint64(p.Body), time.Now()
	if len(e.numbers) > 0 {
		if was := e.numbers[len(e.numbers)-1]; was >= n {
			e.twice = append(e.twice, fmt.Sprintf("%d after %d", n, was))
		}
		e.longest = max(e.longest, now.Sub(e.last))
	}
	e.numbers, e.last = append(e.numbers, n), now
}

// ServeGap implements patterns.Subscriber.
func (e *ear) ServeGap(g patterns.Gap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed += g.Missed
}

func (e *ear) heard() (came, missed uint64, longest time.Duration, twice []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return uint64(len(e.numbers)), e.missed, e.longest, e.twice
}

// carried is how many messages of topics a gateway has carried.
func carried(t *testing.T, g *harness.Gateway) (n int) {
	t.Helper()
	topics := g.Status().Topics
	require.Len(t, topics, 1)
	return topics[0].Messages
}

func TestAKilledGatewayLosesNoPublicationSilently(t *testing.T) {
	// This test publishes 2,000 messages a second in eu, who listens in us by two gateways,
	// and kills the one that carries them with SIGKILL. A plain subscriber and one in a
	// queue each have what was published, once and in order, or are told exactly how much
	// is missing; and messages come again within two seconds.
	scenario(t)
	eu, us := harness.NewNetwork(t).Relay("eu"), harness.NewNetwork(t).Relay("us")
	relays := map[string]*harness.Relay{"eu": eu, "us": us}
	var gs [2]*harness.Gateway
	for i := range gs {
		gs[i] = harness.NewGateway(t, relays, "", "topic: quotes.>, from: eu, to: us")
	}
	ears := map[string]*ear{"plain": {}, "queue": {}}
	for name, e := range ears {
		o := patterns.SubscribeOptions{}
		if name == "queue" {
			o.Queue = "workers"
		}
		_, err := us.Client().Subscribe(t.Context(), "quotes.>", e, o)
		require.NoError(t, err)
	}
	from, next := eu.Client(), uint64(1)
	publish := func() {
		body := binary.BigEndian.AppendUint64(nil, next)
		err := from.Publish(t.Context(), "quotes.x", patterns.Message{Body: body})
		require.NoError(t, err)
		next++
	}
	harness.Eventually(t, harness.Patience, "both hear what is published in eu", func() error {
		publish()
		for name, e := range ears {
			if came, _, _, _ := e.heard(); came == 0 {
				return fmt.Errorf("%s hears nothing", name)
			}
		}
		return nil
	})
	time.Sleep(2 * time.Second) // until both gateways listen
	first := map[string]uint64{}
	for name, e := range ears {
		e.mu.Lock()
		first[name], e.missed, e.longest, e.last = e.numbers[0], 0, 0, time.Now()
		e.mu.Unlock()
	}
	began := time.Now()
	for i := range 8000 {
		publish()
		if i == 3000 {
			busier := gs[0]
			if carried(t, gs[1]) > carried(t, gs[0]) {
				busier = gs[1]
			}
			began = began.Add(time.Since(began) - time.Duration(i)*500*time.Microsecond) // the look takes a while
			busier.Kill()
		}
		if ahead := time.Duration(i)*500*time.Microsecond - time.Since(began); ahead > 0 {
			time.Sleep(ahead)
		}
	}
	for name, e := range ears {
		want := next - first[name]
		harness.Eventually(t, harness.Patience, name+" has all, or knows what is missing", func() error {
			came, missed, _, twice := e.heard()
			if came+missed != want || len(twice) > 0 {
				return fmt.Errorf("%d came, %d are told to be missing, of %d; twice or late: %v", came, missed, want, twice)
			}
			return nil
		})
		came, missed, longest, _ := e.heard()
		t.Logf("%s: %d came, %d are told to be missing, nothing came for %s at most", name, came, missed, longest.Round(time.Millisecond))
		require.Less(t, longest, 2*time.Second)
	}
}
