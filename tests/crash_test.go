// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

// rate is the load under which relays die, in requests per second.
const rate = 2000

// patient members never say that they are busy, however slow the machine is
// that runs the tests: what the stories below are about is something else.
var patient = patterns.Limits{QueueLength: 1 << 13}

// ledger is what the members of a cluster did: how often they ran each
// request, by its body.
type ledger struct {
	mu sync.Mutex
	// Guarded by mu.
	runs map[string]int
	by   map[string]int // requests of each member
}

func newLedger() *ledger { return &ledger{runs: map[string]int{}, by: map[string]int{}} }

// serves registers a member at the relay that writes into the ledger.
func (l *ledger) serves(t *testing.T, r *harness.Relay, cluster, name string) patterns.Registration {
	t.Helper()
	handler := patterns.HandlerFunc(func(_ context.Context, req *patterns.Request) (patterns.Message, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.runs[string(req.Body)]++
		l.by[name]++
		return patterns.Message{Headers: patterns.Headers{{Key: "member", Value: name}}, Body: req.Body}, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	registration, err := r.Client().Serve(ctx, cluster, handler, patient)
	require.NoError(t, err, "serving %s", cluster)
	return registration
}

// answered returns how many requests a member has handled.
func (l *ledger) answered(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[name]
}

// again waits until a member has handled so many more requests.
func (l *ledger) again(t *testing.T, name string, more int) {
	t.Helper()
	harness.AtLeast(t, l.answered(name)+more, "requests of member "+name, func() int { return l.answered(name) })
}

// twice returns the requests that ran more than once.
func (l *ledger) twice() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, n := range l.runs {
		if n > 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (l *ledger) ran(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[id] > 0
}

// asks returns a function for harness.StartLoad: request n has n as body. It
// uses several clients, because a relay bounds what one may have under way.
func asks(r *harness.Relay, cluster string, options ...patterns.RequestOption) func(n int) error {
	callers := []*client.Client{r.Client(), r.Client(), r.Client(), r.Client()}
	return func(n int) error {
		return harness.Echoed(callers[n%len(callers)], harness.Patience, cluster, fmt.Sprint(n), options...)
	}
}

// failures counts outcomes by their text.
func failures(outcomes map[int]error) map[string]int {
	count := map[string]int{}
	for _, err := range outcomes {
		if err != nil {
			count[err.Error()]++
		}
	}
	return count
}

// passed waits until the load has done so many more requests.
func passed(t *testing.T, load *harness.Load, more int) {
	t.Helper()
	harness.AtLeast(t, load.Done()+more, "requests done", load.Done)
}

// trio is the scene of the stories below: three relays with a member each,
// all known at the first one.
func trio(t *testing.T, options ...harness.RelayOption) ([]*harness.Relay, *ledger) {
	t.Helper()
	relays := harness.NewNetwork(t).Relays(3, options...)
	members := newLedger()
	for i, r := range relays {
		members.serves(t, r, "work", fmt.Sprint(i))
	}
	relays[0].Sees(3, "work")
	return relays, members
}

func TestNothingIdempotentIsLostWhenARelayIsKilled(t *testing.T) {
	// This test checks that of 2,000 idempotent requests per second none is
	// lost when a member's relay is killed, and that the member serves again
	// when its relay is back.
	alone(t)
	relays, members := trio(t, harness.Remembering())
	load := harness.StartLoad(t, rate, asks(relays[0], "work", patterns.Idempotent()))
	passed(t, load, 2*rate)
	relays[2].Kill()
	passed(t, load, 2*rate)
	relays[2].Restart()
	members.again(t, "2", 1)
	passed(t, load, rate)
	outcomes := load.Stop()
	require.Empty(t, failures(outcomes), "lost")
	require.Equal(t, load.Sent(), len(outcomes), "each request has an outcome")
}

func TestEveryRequestHasOneOutcomeAndRunsOnce(t *testing.T) {
	// This test checks that of 2,000 requests per second that are not
	// idempotent each has an outcome when a member's relay is killed, that
	// none ran twice, that those answered ran, and that the only failure is
	// the one that admits not to know.
	alone(t)
	relays, members := trio(t)
	load := harness.StartLoad(t, rate, asks(relays[0], "work"))
	passed(t, load, rate)
	relays[1].Kill()
	passed(t, load, rate)
	outcomes := load.Stop()
	require.Equal(t, load.Sent(), len(outcomes), "each request has an outcome")
	require.Empty(t, members.twice(), "these ran more than once")
	for n, err := range outcomes {
		switch {
		case err == nil && !members.ran(fmt.Sprint(n)):
			t.Errorf("request %d was answered but never ran", n)
		case err != nil && !errors.Is(err, patterns.ErrInterrupted):
			t.Errorf("request %d: %v", n, err)
		}
	}
	t.Logf("%d requests, failures: %v", len(outcomes), failures(outcomes))
}

func TestPausedRelayIsLeftOutAndComesBack(t *testing.T) {
	// This test checks that a relay that hangs for five seconds is taken out
	// of rotation, loses no idempotent request, and serves again afterwards.
	alone(t)
	relays, members := trio(t)
	load := harness.StartLoad(t, 200, asks(relays[0], "work", patterns.Idempotent()))
	passed(t, load, 200)

	relays[2].Pause()
	resume := time.Now().Add(5 * time.Second)
	looks := 0
	harness.Eventually(t, harness.Patience, "that the paused relay's member is out of rotation", func() error {
		looks++
		state, err := relays[0].State("work", relays[2])
		if err == nil && state == "live" {
			err = errors.New("it is live")
		}
		return err
	})
	require.Less(t, looks, int(4*time.Second/harness.Look))
	time.Sleep(time.Until(resume))
	relays[2].Continue()
	members.again(t, "2", 100) // what was under way when it was paused does not count
	require.Empty(t, failures(load.Stop()), "lost")
}

func TestTerminatedRelayDrains(t *testing.T) {
	// This test checks that a rolling restart loses nothing: relays with a
	// member beside them get SIGTERM under load, one after the other, and not
	// one request fails, though none may be sent twice.
	alone(t)
	relays, members := trio(t, harness.Remembering())
	load := harness.StartLoad(t, 500, asks(relays[0], "work"))
	passed(t, load, 250)
	for i, r := range relays[1:] {
		name := fmt.Sprint(i + 1)
		r.Terminate().Ends(0)
		passed(t, load, 250)
		r.Restart()
		members.again(t, name, 1)
	}
	require.Empty(t, failures(load.Stop()), "failed")
	require.Empty(t, members.twice(), "these ran more than once")
}

func TestTerminatedMemberDrains(t *testing.T) {
	// This test checks that arke serve finishes what it accepted when it gets
	// SIGTERM: under load not one request fails.
	alone(t)
	a, b := together(harness.NewNetwork(t))
	a.Serves("work", "--exec", "sleep 0.05; cat", "--concurrency", "8")
	leaving := b.Serves("work", "--exec", "sleep 0.05; cat", "--concurrency", "8")
	a.Sees(2, "work")
	load := harness.StartLoad(t, 50, asks(a, "work"))
	passed(t, load, 50)
	leaving.Terminate().Ends(0)
	passed(t, load, 25)
	require.Empty(t, failures(load.Stop()), "failed")
}
