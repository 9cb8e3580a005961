// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// script is a Subscriber that writes down what it gets, for the trace.
type script struct {
	n     *sim.Network
	name  string
	pause time.Duration
}

func (s script) ServePublication(p patterns.Publication) {
	time.Sleep(s.pause)
	s.n.Note(s.name, string(p.Body))
}

func (s script) ServeGap(g patterns.Gap) { s.n.Note(s.name, fmt.Sprint("-", g.Missed)) }

func TestInboxesReplay(t *testing.T) {
	// This test has more inboxes than workers, of all policies, quick and slow,
	// with publishers that wait and give up at the same instant, in the
	// simulator: four runs have the same trace.
	const count, each = 12, 40
	trace := sim.Replay(t, sim.Config{Seed: 1, Workers: 5}, 4, func(t *testing.T, n *sim.Network) {
		seam := n.Seam("a")
		set, err := inbox.NewSet(inbox.SetConfig{Exec: seam.Exec, Clock: seam.Clock})
		require.NoError(t, err)
		var boxes []*inbox.Inbox
		for i := range count {
			b, err := set.New(inbox.Config{
				Key:        uint64(i + 1),
				Subscriber: script{n, fmt.Sprint("s", i), time.Duration(i%4) * time.Millisecond},
				Options:    patterns.SubscribeOptions{QueueLength: 3, Overflow: patterns.Overflow(i % 3)},
			})
			require.NoError(t, err)
			boxes = append(boxes, b)
		}
		var wg sync.WaitGroup
		ctx, cancel := overlay.WithTimeout(context.Background(), seam.Clock, "patience", 60*time.Millisecond)
		defer cancel()
		for i := range each {
			n.At(time.Duration(i)*time.Millisecond, "put", func() {
				for _, b := range boxes {
					b.Put(message(i))
				}
			})
			wg.Add(1)
			seam.Clock.AfterFunc("publish", time.Duration(i)*time.Millisecond, func() {
				defer wg.Done()
				_ = boxes[2+3*(i%4)].PutWait(ctx, message(1000+i))
			})
		}
		wg.Wait()
		time.Sleep(20 * time.Millisecond)
		var put uint64
		for _, b := range boxes {
			require.NoError(t, b.Close(context.Background()))
			put += b.Status().Delivered + b.Status().Missed
		}
		require.EqualValues(t, count*each+each, put)
		n.Note("outcome", fmt.Sprint(set.Status()))
	})
	require.NotZero(t, trace.Events)
}
