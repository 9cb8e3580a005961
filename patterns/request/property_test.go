// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// ledger counts how often each request was handled.
type ledger struct {
	mu  sync.Mutex
	ran map[string]int
}

func (l *ledger) ServeRequest(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
	l.mu.Lock()
	l.ran[string(r.Body)]++
	l.mu.Unlock()
	n, _ := strconv.Atoi(string(r.Body))
	select {
	case <-time.After(time.Duration(n%20) * time.Millisecond):
	case <-ctx.Done():
	}
	switch {
	case n%17 == 0:
		panic("seventeen")
	case n%13 == 0:
		return patterns.Message{}, errors.New("thirteen")
	}
	return patterns.Message{Body: r.Body}, ctx.Err()
}

func (l *ledger) count(body string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ran[body]
}

func TestEveryRequestHasOneTrueOutcomeWhateverHappens(t *testing.T) {
	// This property test runs requests through random faults: links cut,
	// doubted, filled and frozen, dials refused, members leaving and coming,
	// callers giving up. Each Do must return once, in time, and its outcome
	// must be true: what is not idempotent ran at most once, a reply means
	// that it ran, and "no handler ran" that it did not.
	for seed := range uint64(25) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed) })
		})
	}
}

func play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 99))
	w := newWorld(t)
	caller := w.node("caller", nil)
	book := &ledger{ran: make(map[string]int)}
	limits := patterns.Limits{Concurrency: 3, QueueLength: 5}
	var hosts []*fakeNode
	for i := range 3 {
		h := w.node("host"+strconv.Itoa(i), nil)
		hosts = append(hosts, h)
		w.connect(caller, h)
		w.member(h, cluster.MemberID(i+1), "geo", book, limits)
	}
	over := make(chan struct{})
	w.wg.Go(func() {
		defer close(over)
		disturb(w, rand.New(rand.NewPCG(seed, 100)), caller, hosts, book, limits)
	})
	outcomes := make(map[string]int)
	var mu sync.Mutex
	var requests sync.WaitGroup
	for n := range 400 {
		idempotent, patience := random.IntN(2) == 0, time.Duration(random.IntN(3000)+1)*time.Millisecond
		quit := time.Duration(0)
		if random.IntN(8) == 0 {
			quit = time.Duration(random.IntN(50)) * time.Millisecond
		}
		requests.Go(func() {
			name := oneRequest(t, caller, book, n, idempotent, patience, quit)
			mu.Lock()
			outcomes[name]++
			mu.Unlock()
		})
		time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond)
	}
	requests.Wait()
	<-over
	for _, h := range hosts {
		w.set(caller, h, func(l *fakeLink) { l.full, l.frozen, l.hang, l.refuse = false, false, false, false })
		w.set(h, caller, func(l *fakeLink) { l.full, l.frozen = false, false })
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	require.Zero(t, caller.engine.Calls().Pending)
	for _, h := range hosts {
		for _, s := range h.engine.Status() {
			require.Zero(t, s.Running+s.Waiting)
		}
	}
	require.NotZero(t, outcomes["ok"], "a test in which nothing works proves nothing: %v", outcomes)
	if testing.Verbose() {
		t.Log(outcomes)
	}
}

// oneRequest sends a request, checks its outcome and names it.
func oneRequest(t *testing.T, caller *fakeNode, book *ledger, n int, idempotent bool, patience, quit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	limit := patience
	if quit > 0 {
		limit = quit
		stop := time.AfterFunc(quit, cancel)
		defer stop.Stop()
	}
	text := strconv.Itoa(n)
	begin := time.Now()
	reply, err := caller.engine.Do(ctx, "geo", body(text), patterns.RequestOptions{Idempotent: idempotent})
	if took := time.Since(begin); took > limit+5*time.Millisecond {
		t.Errorf("request %d took %v, more than %v", n, took, limit)
	}
	ran := book.count(text)
	if ran > 1 && !idempotent {
		t.Errorf("request %d is not idempotent and ran %d times", n, ran)
	}
	var remote *patterns.RemoteError
	var late *patterns.DeadlineError
	name, mustRun, mustNot := "", false, false
	switch {
	case err == nil:
		name, mustRun = "ok", true
		if string(reply.Body) != text {
			t.Errorf("request %d got the reply %q", n, reply.Body)
		}
	case errors.As(err, &remote):
		name, mustRun = "remote", true
	case errors.As(err, &late):
		name, mustNot = "deadline", !late.MaybeRan
	case errors.Is(err, patterns.ErrInterrupted):
		name = "interrupted"
	case errors.Is(err, patterns.ErrOverloaded), errors.Is(err, patterns.ErrUnreachable), errors.Is(err, patterns.ErrNoMembers):
		name, mustNot = err.Error(), true
	default:
		t.Errorf("request %d has no proper outcome: %v", n, err)
	}
	if mustRun && ran == 0 {
		t.Errorf("request %d did not run: %v", n, err)
	}
	if mustNot {
		time.Sleep(request.DefaultTimeout) // nor does it run later
		if ran := book.count(text); ran > 0 {
			t.Errorf("request %d ran %d times: %v", n, ran, err)
		}
	}
	return name
}

// disturb plays random faults.
func disturb(w *world, random *rand.Rand, caller *fakeNode, hosts []*fakeNode, book *ledger, limits patterns.Limits) {
	next := cluster.MemberID(100)
	for range 150 {
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		h := hosts[random.IntN(len(hosts))]
		on := random.IntN(3) == 0
		switch random.IntN(8) {
		case 0, 1:
			w.cut(caller, h)
		case 2:
			w.doubt(caller, h)
		case 3:
			w.set(caller, h, func(l *fakeLink) { l.full = on })
		case 4:
			w.set(h, caller, func(l *fakeLink) { l.full = on })
		case 5:
			w.set(caller, h, func(l *fakeLink) { l.frozen = on })
		case 6:
			w.set(caller, h, func(l *fakeLink) { l.refuse, l.hang = on, !on && random.IntN(3) == 0 })
			if !on {
				w.connect(caller, h)
			}
		case 7:
			list := h.engine.Status()
			if len(list) == 0 || list[0].Draining {
				w.member(h, next, "geo", book, limits)
				next++
				continue
			}
			id, _ := cluster.ParseMemberID(list[0].Member)
			w.unlist("geo", id)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			_ = w.servers[id].Drain(ctx)
			cancel()
		}
	}
}
