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
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// withBell is an engine whose callers wait at a bell when they are alone.
func (w *wireless) withBell(t *testing.T) *request.Engine {
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

// TestWhatEndsAWaitAtABell proves that who waits at a bell goes on when its context ends,
// its time is over, or its engine closes.
func TestWhatEndsAWaitAtABell(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(e *request.Engine, cancel context.CancelFunc)
		want error
	}{
		"cancelled":     {func(_ *request.Engine, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"time is over":  {func(*request.Engine, context.CancelFunc) {}, context.DeadlineExceeded},
		"engine closes": {func(e *request.Engine, _ context.CancelFunc) { _ = e.Close() }, patterns.ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWireless()
			sent := make(chan struct{}, 1)
			w.sent = func(k wire.Kind, _ [][]byte) {
				if k == wire.KindRequest {
					sent <- struct{}{}
				}
			}
			e := w.withBell(t)
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
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
