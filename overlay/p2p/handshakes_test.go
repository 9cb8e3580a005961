// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that handshakes have their whole time while there is room,
// that those who wait get the place of one that took a second, and that the
// end of a handshake makes room at once.
func TestHandshakesMakeRoomUnderPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counters
		h := newHandshakes(2, 5*time.Second, &c)
		first, doneFirst, err := h.begin(t.Context())
		require.NoError(t, err)
		time.Sleep(300 * time.Millisecond)
		second, doneSecond, err := h.begin(t.Context())
		require.NoError(t, err)

		begun := time.Now()
		third, doneThird, err := h.begin(t.Context())
		require.NoError(t, err)
		require.Equal(t, 700*time.Millisecond, time.Since(begun))
		require.Error(t, first.Err(), "evicted")
		require.NoError(t, second.Err())
		require.EqualValues(t, 1, c[countHandshakeEvicted].Load())

		go func() {
			time.Sleep(100 * time.Millisecond)
			doneSecond()
		}()
		begun = time.Now()
		_, doneFourth, err := h.begin(t.Context())
		require.NoError(t, err)
		require.Equal(t, 100*time.Millisecond, time.Since(begun))
		doneFourth()

		<-third.Done()
		require.ErrorIs(t, third.Err(), context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(begun)+0, "nobody else waited")
		doneFirst()
		doneThird()
	})
}

// This test checks that waiting ends with the context, and that nothing
// begins after close.
func TestHandshakesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandshakes(1, time.Minute, new(counters))
		running, done, err := h.begin(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, err = h.begin(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		ended := make(chan error)
		go func() {
			_, _, err := h.begin(t.Context())
			ended <- err
		}()
		synctest.Wait()
		h.close()
		require.ErrorIs(t, <-ended, ErrClosed)
		require.Error(t, running.Err())
		done()
		_, _, err = h.begin(t.Context())
		require.ErrorIs(t, err, ErrClosed)
	})
}
