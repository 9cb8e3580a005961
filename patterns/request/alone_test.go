// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// withBell is an engine whose callers wait at a bell when they are alone.
func (w *wireless) withBell(t testing.TB) *request.Engine {
	return w.engineWith(t, func(c *request.Config) { c.Bell = true })
}

// TestCallersAtABellGetTheirReplies proves that each caller gets its own reply, whether
// it is alone, and waits at a bell, or not, and however others come and go meanwhile.
func TestCallersAtABellGetTheirReplies(t *testing.T) {
	w := newWireless()
	var wg sync.WaitGroup
	w.sent = func(_ wire.Kind, parts [][]byte) {
		frame := encodeReply(wire.Reply{}, parts[len(parts)-1])
		copy(frame, parts[0][:8])
		wg.Go(func() { w.handlers[wire.KindReply](w, frame) })
	}
	e := w.withBell(t)
	for callers := range 4 {
		for i := range callers + 1 {
			wg.Go(func() {
				body := bytes.Repeat([]byte{byte(i)}, 100)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				for range 500 {
					reply, err := e.Do(ctx, "geo", patterns.Message{Body: body}, patterns.RequestOptions{})
					if err != nil || !bytes.HasSuffix(reply.Body, body) {
						t.Errorf("%v, %v", reply, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// hasty is a clock whose timers take a hundredth of their time.
type hasty struct{ overlay.Clock }

func (h hasty) AfterFunc(label string, d time.Duration, f func()) overlay.Timer {
	return h.Clock.AfterFunc(label, d/100, f)
}

// TestWhatEndsAWaitAtABell proves that who waits at a bell goes on when its context ends,
// its time is over, with a context or without, or its engine closes.
func TestWhatEndsAWaitAtABell(t *testing.T) {
	nothing := func(*request.Engine, context.CancelFunc) {}
	for name, c := range map[string]struct {
		time time.Duration // of the context; 0 = it has none
		end  func(e *request.Engine, cancel context.CancelFunc)
		want error
	}{
		"cancelled":     {time.Minute, func(_ *request.Engine, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"time is over":  {50 * time.Millisecond, nothing, context.DeadlineExceeded},
		"no context":    {0, nothing, context.DeadlineExceeded},
		"engine closes": {time.Minute, func(e *request.Engine, _ context.CancelFunc) { _ = e.Close() }, patterns.ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWireless()
			e := w.engineWith(t, func(c *request.Config) { c.Bell, c.Clock = true, hasty{c.Clock} })
			w.repliesAtOnce()
			for range 8 {
				_, err := e.Do(context.Background(), "geo", patterns.Message{}, patterns.RequestOptions{})
				require.NoError(t, err)
			}
			require.True(t, request.NextAtBell(e))

			sent := make(chan struct{}, 1)
			w.sent = func(k wire.Kind, _ [][]byte) {
				if k == wire.KindRequest {
					sent <- struct{}{}
				}
			}
			ctx, cancel := context.Background(), context.CancelFunc(func() {})
			if c.time > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.time)
			}
			defer cancel()
			go func() {
				<-sent
				c.end(e, cancel)
			}()
			_, err := e.Do(ctx, "geo", patterns.Message{}, patterns.RequestOptions{})
			require.ErrorIs(t, err, c.want)
		})
	}
}
