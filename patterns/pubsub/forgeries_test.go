// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

func TestManyGoodSignaturesOfOnePeerHoldNobodyUp(t *testing.T) {
	// This test has a peer show more signatures than are verified for one: the rest is not
	// looked at, for a while, and what others show is.
	alone(t, func(t *testing.T, l *lone) {
		good := func() error { return nil }
		for range 2 * env.Verifying.Units * int64(env.Verifying.Burst/env.Verifying.Per) {
			l.base.Verifies("busy", good)
		}
		burst := uint64(env.Verifying.Units) * uint64(env.Verifying.Burst/env.Verifying.Per)
		require.Equal(t, burst, l.base.Counts.Verified.Load())
		require.Equal(t, burst, l.dropped(env.DropSignatures))
		require.True(t, l.base.Verifies("other", good))
		require.False(t, l.base.Verifies("busy", good))
		time.Sleep(time.Millisecond)
		require.True(t, l.base.Verifies("busy", good))
	})
}

func TestFalseSignaturesAreLookedAtSoManyTimes(t *testing.T) {
	// This test has a peer show more paths with false signatures than are verified: the
	// rest is not looked at, also not a path that is true, until it has been quiet for
	// long enough. What others show is.
	alone(t, func(t *testing.T, l *lone) {
		got, pub := l.listens(t, "news.>"), author("pub")
		burst := uint64(env.Forging.Burst.Seconds()) * uint64(env.Forging.Units)
		for serial := range 2 * burst {
			p := pub.path(1, serial+1, 0, "liar")
			p.Proof.Signature[0]++
			l.shows("liar", p)
		}
		require.Equal(t, burst, l.base.Counts.Verified.Load())
		require.Equal(t, burst, l.dropped(env.DropForger))

		l.shows("liar", pub.path(1, 1, 0, "liar"))
		pub.comes(l, "liar", 1, 1, "too late")
		require.Equal(t, burst+1, l.dropped(env.DropForger))
		require.Equal(t, burst, l.base.Counts.Verified.Load())
		require.Empty(t, got)

		l.shows("f", pub.path(2, 2, 0, "f"))
		pub.comes(l, "f", 2, 1, "one")
		require.Equal(t, "news.a one", got.next(t))

		time.Sleep(time.Second)
		l.shows("liar", pub.path(3, 3, 0, "liar"))
		pub.comes(l, "liar", 3, 1, "two")
		require.Equal(t, "news.a two", got.next(t))
		require.Equal(t, burst+1, l.dropped(env.DropForger))
	})
}
