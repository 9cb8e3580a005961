// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// This test checks that a context of WithTimeout, and those derived from it,
// end exactly as those of package context do.
func TestTimeoutContextEndsLikeTheStandardOne(t *testing.T) {
	cause := errors.New("why")
	for name, c := range map[string]struct {
		end       func(cancelParent context.CancelCauseFunc, cancel context.CancelFunc)
		err       error
		wantCause error
	}{
		"time is over":     {func(context.CancelCauseFunc, context.CancelFunc) { time.Sleep(2 * time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
		"cancelled":        {func(_ context.CancelCauseFunc, c context.CancelFunc) { c() }, context.Canceled, context.Canceled},
		"parent cancelled": {func(p context.CancelCauseFunc, _ context.CancelFunc) { p(cause) }, context.Canceled, cause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				type key struct{}
				parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), key{}, "v"))
				defer cancelParent(nil)
				ctx, cancel := overlay.WithTimeout(parent, overlay.NewRealClock(), "test", time.Second)
				defer cancel()
				child, cancelChild := context.WithCancel(context.WithValue(ctx, key{}, "w"))
				defer cancelChild()
				nested, cancelNested := overlay.WithTimeout(ctx, overlay.NewRealClock(), "test", time.Minute)
				defer cancelNested()
				called := false
				context.AfterFunc(ctx, func() { called = true })

				deadline, ok := nested.Deadline()
				require.True(t, ok)
				require.Equal(t, time.Now().Add(time.Second), deadline)
				require.Equal(t, "v", ctx.Value(key{}))
				for _, each := range []context.Context{ctx, child, nested} {
					require.NoError(t, each.Err())
					require.NoError(t, context.Cause(each))
				}

				c.end(cancelParent, cancel)
				synctest.Wait()
				for _, each := range []context.Context{ctx, child, nested} {
					<-each.Done()
					require.Equal(t, c.err, each.Err())
					require.Equal(t, c.wantCause, context.Cause(each))
				}
				require.True(t, called)
			})
		})
	}
}

// This test checks that a time that is over before it begins, and a parent
// that has ended, give a context that has ended.
func TestTimeoutContextMayBeginEnded(t *testing.T) {
	over, cancel := overlay.WithTimeout(t.Context(), overlay.NewRealClock(), "test", 0)
	defer cancel()
	require.ErrorIs(t, over.Err(), context.DeadlineExceeded)

	parent, cancelParent := context.WithCancel(t.Context())
	cancelParent()
	late, cancel := overlay.WithTimeout(parent, overlay.NewRealClock(), "test", time.Hour)
	defer cancel()
	require.ErrorIs(t, late.Err(), context.Canceled)
}

// This test checks that cancelling early stops the timer and forgets both
// children and parent: nothing of it is left when the bubble ends.
func TestTimeoutContextLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, cancelOuter := overlay.WithTimeout(t.Context(), overlay.NewRealClock(), "test", time.Hour)
		for range 1000 {
			inner, cancel := overlay.WithTimeout(outer, overlay.NewRealClock(), "test", time.Minute)
			stop := context.AfterFunc(inner, func() { t.Error("must not run") })
			require.True(t, stop())
			require.False(t, stop())
			cancel()
		}
		require.NoError(t, outer.Err())
		cancelOuter()
	})
}

// This test checks that a sleep takes exactly its time, or ends with its
// context, and that nothing of it is left then.
func TestSleepEndsInTimeOrWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := overlay.WithTimeout(t.Context(), overlay.NewRealClock(), "test", time.Minute)
		defer cancel()
		begin := time.Now()
		require.True(t, overlay.Sleep(ctx, overlay.NewRealClock(), "test", time.Second))
		require.Equal(t, time.Second, time.Since(begin))
		require.False(t, overlay.Sleep(ctx, overlay.NewRealClock(), "test", time.Hour))
		require.Equal(t, time.Minute, time.Since(begin))
		require.False(t, overlay.Sleep(ctx, overlay.NewRealClock(), "test", time.Hour))
		require.Equal(t, time.Minute, time.Since(begin))
	})
}
