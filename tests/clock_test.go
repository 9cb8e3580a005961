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

// stepTime is how long a clock is wrong, and right again: by then what was renewed at the
// wrong time would have run out.
const stepTime = 20 * time.Second

// asking requests a cluster ten times a second and remembers what did not end in a reply.
type asking struct {
	mu     sync.Mutex
	failed []string
	last   time.Time // of the last failure
	asked  int
	false  int // times that it was told that there is no member
}

func (a *asking) run(ctx context.Context, c *client.Client, cluster string) {
	began := time.Now()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := c.Request(limited, cluster, patterns.Message{Body: []byte("x")}, patterns.Idempotent())
		cancel()
		if ctx.Err() != nil {
			return
		}
		a.mu.Lock()
		a.asked++
		if err != nil {
			a.failed, a.last = append(a.failed, fmt.Sprintf("%v: %v", time.Since(began).Round(time.Millisecond), err)), time.Now()
		}
		if errors.Is(err, patterns.ErrNoMembers) {
			a.false++
		}
		a.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
}

// check returns how many requests have failed since the last call, and when the last one did.
func (a *asking) check(t *testing.T, what string) (failed int, last time.Time) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Zero(t, a.false, "%s: %v", what, a.failed)
	require.Positive(t, a.asked, what)
	failed = len(a.failed)
	a.asked, a.failed = 0, nil
	return failed, a.last
}

func TestAClockThatIsSteppedHidesNoMember(t *testing.T) {
	// This test steps the wall clock of a running relay by eight hours, forth and back, and
	// back and forth, while programs beside it and beside others ask members on either
	// side: no answer is "no members", and once the clock is right all requests succeed.
	scenario(t)
	nw := harness.NewNetwork(t)
	b := nw.Relay("b")
	a := nw.Relay("a", harness.Seed(b), harness.ClockOff(t, 0))
	c := nw.Relay("c", harness.Seed(b))
	harness.Together(t, a, b, c)
	a.Serves("stepped", "--echo")
	b.Serves("right", "--echo")
	for _, r := range []*harness.Relay{a, b, c} {
		r.Sees(1, "stepped")
		r.Sees(1, "right")
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	asked := map[string]*asking{}
	for _, r := range []struct {
		at      *harness.Relay
		name    string
		cluster string
	}{{a, "a", "right"}, {b, "b", "stepped"}, {c, "c", "stepped"}, {c, "c", "right"}} {
		one := &asking{}
		asked[r.name+" asks "+r.cluster] = one
		eye := r.at.Client()
		all.Go(func() { one.run(ctx, eye, r.cluster) })
	}
	for _, by := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
		a.StepClock(by)
		time.Sleep(stepTime)
		for name, one := range asked {
			failed, _ := one.check(t, fmt.Sprintf("%s, %v off", name, by))
			t.Logf("%s, %v off: %d failed", name, by, failed)
		}
		back := time.Now()
		a.StepClock(0)
		time.Sleep(stepTime)
		for name, one := range asked {
			failed, last := one.check(t, fmt.Sprintf("%s, back from %v", name, by))
			t.Logf("%s, back from %v: %d failed", name, by, failed)
			require.Less(t, last.Sub(back), 5*time.Second, name)
		}
	}
}
