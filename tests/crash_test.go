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

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

// rate is the load under which relays die, in requests per second.
const rate = 2000

// patient members never say that they are busy, however slow the machine is
// that runs the tests: what the stories below are about is something else.
var patient = patterns.Limits{QueueLength: 1 << 16}

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
	if err != nil {
		t.Fatalf("serving %s: %v", cluster, err)
	}
	return registration
}

// answered returns how many requests a member has handled.
func (l *ledger) answered(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[name]
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
		ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
		defer cancel()
		id := fmt.Sprint(n)
		reply, err := callers[n%len(callers)].Request(ctx, cluster, patterns.Message{Body: []byte(id)}, options...)
		if err == nil && string(reply.Body) != id {
			err = fmt.Errorf("the reply to %s is %q", id, reply.Body)
		}
		return err
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
	goal := load.Done() + more
	harness.Eventually(t, harness.Patience, fmt.Sprintf("that %d more requests are done", more), func() error {
		if n := load.Done(); n < goal {
			return fmt.Errorf("%d are missing", goal-n)
		}
		return nil
	})
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
	before := members.answered("2")
	relays[2].Restart()
	harness.Eventually(t, harness.Patience, "that the member is asked again", func() error {
		if members.answered("2") == before {
			return errors.New("it is not")
		}
		return nil
	})
	passed(t, load, rate)
	outcomes := load.Stop()
	if lost := failures(outcomes); len(lost) > 0 || len(outcomes) != load.Sent() {
		t.Errorf("of %d requests, %d have an outcome, and these were lost: %v", load.Sent(), len(outcomes), lost)
	}
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
	if len(outcomes) != load.Sent() {
		t.Errorf("of %d requests, only %d have an outcome", load.Sent(), len(outcomes))
	}
	if twice := members.twice(); len(twice) > 0 {
		t.Errorf("these ran more than once: %v", twice)
	}
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
		return stateOf(relays[0], relays[2], "work", func(state string) bool { return state != "live" })
	})
	require(t, looks < int(4*time.Second/harness.Look), looks)
	before := members.answered("2")
	harness.Eventually(t, harness.Patience, "that five seconds are over", func() error {
		if time.Now().Before(resume) {
			return errors.New("not yet")
		}
		return nil
	})
	relays[2].Continue()
	harness.Eventually(t, harness.Patience, "that the member is asked again", func() error {
		// What was under way when it was paused does not count.
		if members.answered("2") < before+100 {
			return fmt.Errorf("it was asked %d times", members.answered("2")-before)
		}
		return nil
	})
	if lost := failures(load.Stop()); len(lost) > 0 {
		t.Errorf("lost: %v", lost)
	}
}

// stateOf returns an error unless the state of the cluster's member at one
// relay, as another one sees it, is right; a member that is gone is "gone".
func stateOf(viewer, host *harness.Relay, cluster string, right func(state string) bool) error {
	members, err := viewer.Members(cluster)
	if err != nil {
		return err
	}
	state := "gone"
	for _, m := range members {
		if m.Peer == host.Peer() {
			state = m.State
		}
	}
	if !right(state) {
		return fmt.Errorf("it is %s", state)
	}
	return nil
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
		if code := r.Terminate(); code != 0 {
			t.Errorf("relay %s ended with status %d", name, code)
		}
		passed(t, load, 250)
		before := members.answered(name)
		r.Restart()
		harness.Eventually(t, harness.Patience, "that member "+name+" is asked again", func() error {
			if members.answered(name) == before {
				return errors.New("it is not")
			}
			return nil
		})
	}
	outcomes := load.Stop()
	if failed := failures(outcomes); len(failed) > 0 {
		t.Errorf("of %d requests these failed: %v", len(outcomes), failed)
	}
	if twice := members.twice(); len(twice) > 0 {
		t.Errorf("these ran more than once: %v", twice)
	}
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
	if code := leaving.Terminate(); code != 0 {
		t.Errorf("arke serve ended with status %d", code)
	}
	passed(t, load, 25)
	if failed := failures(load.Stop()); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
}
