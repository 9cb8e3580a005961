// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// mixture is what became of everything that was sent on a stage, by body.
type mixture struct {
	*stage

	mu       sync.Mutex
	runs     map[string]map[string]int // body to member to how often it ran there
	order    map[string][]string       // member to the broadcasts in the order in which they ran
	accepted []string                  // pushes
	partial  int                       // surveys and broadcasts of which somebody was missing
	trouble  []error
}

func (m *mixture) note(member string, r *patterns.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body := string(r.Body)
	if m.runs[body] == nil {
		m.runs[body] = make(map[string]int)
	}
	m.runs[body][member]++
	if r.Pattern == patterns.PatternBroadcast {
		m.order[member] = append(m.order[member], body)
	}
}

// serveMix registers a member that takes everything, one after the other.
func (m *mixture) serveMix(i int) {
	var reg patterns.Registration
	var known sync.WaitGroup
	known.Add(1)
	member := func() string { known.Wait(); return reg.Member() }
	take := func(_ context.Context, r *patterns.Request) {
		m.note(member(), r)
		time.Sleep(4 * time.Millisecond)
	}
	var err error
	reg, err = m.nodes[i].Serve(context.Background(), "mix", patterns.Service{
		Request: func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			m.note(member(), r)
			time.Sleep(8 * time.Millisecond)
			return patterns.Message{Body: r.Body}, nil
		},
		Push: take, Broadcast: take,
	}, patterns.Limits{Concurrency: 1})
	known.Done()
	require.NoError(m.t, err)
}

// send sends one message of some pattern from a node and checks its outcome.
func (m *mixture) send(from, i int) (err error) {
	ctx, n := context.Background(), m.nodes[from]
	body := fmt.Sprint(i)
	msg := patterns.Message{Body: []byte(body)}
	switch i % 4 {
	case 0:
		_, err = n.Request(ctx, "mix", msg)
	case 1:
		if err = n.Push(ctx, "mix", msg); err == nil {
			m.mu.Lock()
			m.accepted = append(m.accepted, body)
			m.mu.Unlock()
		}
	case 2:
		seen := make(map[string]bool)
		var r patterns.SurveyResult
		r, err = n.Survey(ctx, "mix", msg, func(p patterns.SurveyReply) error {
			if seen[p.Member] {
				return errors.New("answered twice: " + p.Member)
			}
			seen[p.Member] = true
			return p.Err
		}, patterns.SurveyOptions{})
		m.count(len(r.Missing))
		if r.Complete != (len(r.Missing) == 0) || r.Replies != len(seen) {
			err = fmt.Errorf("survey %s: %+v with %d replies", body, r, len(seen))
		}
	case 3:
		var r patterns.BroadcastResult
		r, err = n.Broadcast(ctx, "mix", msg)
		m.count(len(r.Missing))
		if err == nil && r.Members+len(r.Missing) < 3 {
			err = fmt.Errorf("broadcast %s: %+v", body, r)
		}
	}
	return err
}

func (m *mixture) count(missing int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if missing > 0 {
		m.partial++
	}
}

func TestAMixtureOfPatternsWithCrashesReplays(t *testing.T) {
	// This test sends 400 messages of four patterns from two nodes while two of
	// five members' nodes crash: nothing runs twice at one member, requests and
	// pushes run at one only, accepted pushes run, broadcasts run in order, and
	// the trace is the same each time.
	sim.Replay(t, sim.Config{Seed: 7}, 2, func(t *testing.T, n *sim.Network) {
		m := &mixture{stage: newStage(t, n, 2), runs: make(map[string]map[string]int), order: make(map[string][]string)}
		for i := 2; i < 7; i++ {
			m.nodes = append(m.nodes, m.start(i))
			m.serveMix(i)
		}
		time.Sleep(3 * time.Second) // everybody knows everybody
		var gone []string
		for k, i := range []int{3, 5} {
			n.At(n.Elapsed()+time.Duration(k+1)*400*time.Millisecond, "crash", func() {
				n.Crash(fmt.Sprint("n", i))
				gone = append(gone, m.nodes[i].Self().String())
				m.nodes[i].Close()
			})
		}
		var wg sync.WaitGroup
		for from := range 2 {
			wg.Add(1)
			n.Go(fmt.Sprint("sender ", from), func() {
				defer wg.Done()
				for i := from; i < 400; i += 2 {
					if err := m.send(from, i); err != nil {
						m.mu.Lock()
						m.trouble = append(m.trouble, fmt.Errorf("%d: %w", i, err))
						m.mu.Unlock()
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		m.check(t)
		n.Note("outcome", fmt.Sprint(len(m.runs), len(m.accepted), m.trouble, m.partial, gone))
		require.Positive(t, m.partial, "a crash was in time to be seen")
	})
}

func (m *mixture) check(t *testing.T) {
	for _, err := range m.trouble {
		require.True(t, errors.Is(err, patterns.ErrInterrupted) || errors.Is(err, patterns.ErrUnreachable), err)
	}
	require.Less(t, len(m.trouble), 8, m.trouble)
	for body, at := range m.runs {
		for member, times := range at {
			require.Equal(t, 1, times, body, member)
		}
		var i int
		_, err := fmt.Sscan(body, &i)
		require.NoError(t, err)
		if i%4 < 2 {
			require.Len(t, at, 1, body)
		}
	}
	lost := 0
	for _, body := range m.accepted {
		if len(m.runs[body]) == 0 {
			lost++
		}
	}
	require.LessOrEqual(t, lost, 2, "with one at most at each node that crashed")
	for member, bodies := range m.order {
		last := -1
		for _, body := range bodies {
			var i int
			_, err := fmt.Sscan(body, &i)
			require.NoError(t, err)
			require.Greater(t, i, last, member) // 3 modulo 4: all of them from the second sender
			last = i
		}
	}
}
