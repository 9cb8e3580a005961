// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// reader is a link whose reader runs what it is given when the test says so.
type reader struct {
	*wireless
	template []byte
	asked    uint64
	alone    bool // what is asked comes alone
	given    []func()
	replies  []wire.Reply
}

// read runs f with a member whose handlers take that long, in virtual time. Handlers, and
// what has waited, run on workers, or where the test has them run.
func read(t *testing.T, takes *time.Duration, limits patterns.Limits, f func(r *reader)) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{wireless: newWireless(), alone: true}
		r.last = func(f func()) bool {
			if r.alone {
				r.given = append(r.given, f)
			}
			return r.alone
		}
		r.sent = func(_ wire.Kind, parts [][]byte) {
			m, err := wire.DecodeReply(bytes.Join(parts, nil))
			require.NoError(t, err)
			r.replies = append(r.replies, m)
		}
		_, err := r.engine(t).AddMember(1, "geo", patterns.Service{
			Request: func(context.Context, *patterns.Request) (patterns.Message, error) {
				time.Sleep(*takes)
				return patterns.Message{}, nil
			},
		}, limits)
		require.NoError(t, err)
		m := wire.Request{Member: 1, Incarnation: 7, Tail: tail(nil)}
		m.Deadline = r.LinkTime(time.Now().Add(time.Hour))
		r.template = m.AppendTo(nil)
		f(r)
	})
}

// ask has so many requests come, one after the other.
func (r *reader) ask(n int) {
	for range n {
		r.asked++
		frame := bytes.Clone(r.template)
		binary.BigEndian.PutUint64(frame, r.asked)
		r.handlers[wire.KindRequest](r, frame)
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

// This test checks that a request whose handlers are brief is left to who has read it, if
// it comes alone, and answered once it runs there.
func TestBriefHandlersRunWhereTheirRequestsAreRead(t *testing.T) {
	read(t, new(time.Duration), patterns.Limits{}, func(r *reader) {
		r.ask(16)
		require.Empty(t, r.given, "nobody knows yet")
		require.Len(t, r.replies, 16)
		for i := range 100 {
			r.ask(1)
			require.Len(t, r.given, i+1)
			require.Len(t, r.replies, 16+i)
			r.given[i]()
			require.Len(t, r.replies, 17+i)
			require.Equal(t, r.asked, r.replies[16+i].ID)
		}
		r.alone = false
		r.ask(10)
		require.Len(t, r.given, 100)
		require.Len(t, r.replies, 126)
	})
}

// This test checks that handlers that take long run on workers, also those that have been
// brief, until twice as many as at first were brief.
func TestHandlersThatTakeLongRunOnWorkers(t *testing.T) {
	takes := 100 * time.Microsecond
	read(t, &takes, patterns.Limits{}, func(r *reader) {
		r.ask(1000)
		require.Empty(t, r.given)
		takes = 0
		r.ask(17)
		require.Len(t, r.given, 1)
		takes = 2 * time.Millisecond
		r.given[0]()
		r.ask(1)
		takes = 0
		r.ask(64)
		require.Len(t, r.given, 1, "two were long")
		r.ask(1)
		require.Len(t, r.given, 2)
		r.given[1]()
	})
}

// This test checks that who has waited for a handler that a reader runs comes next, on a
// worker: the reader reads on.
func TestWhoWaitsForAReaderRunsOnAWorker(t *testing.T) {
	takes := time.Duration(0)
	read(t, &takes, patterns.Limits{Concurrency: 1, QueueLength: 10}, func(r *reader) {
		r.ask(17)
		r.ask(3)
		require.Len(t, r.given, 1, "the others wait for its room")
		require.Len(t, r.replies, 16)
		takes = time.Minute // of those that wait
		r.given[0]()
		synctest.Wait()
		require.Len(t, r.replies, 17)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, r.replies, 20)
	})
}
