// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

func TestALeaseThatIsRefusedIsTriedAgain(t *testing.T) {
	// This test has the anchors refuse a lease for a while: who waits for it is
	// told, and what changes for others is registered later.
	synctest.Test(t, func(t *testing.T) {
		l := newLone(t)
		r := &roster{}
		l.cfg.Directory = r
		queue := patterns.SubscribeOptions{Queue: "q"}
		_, err := l.Engine.Subscribe(t.Context(), "work", make(catcher, 10), queue)
		require.NoError(t, err)
		r.refuse(2)
		_, err = l.Engine.Subscribe(t.Context(), "work", make(catcher, 10), queue)
		require.NoError(t, err, "the queue is registered already")
		_, err = l.Engine.Subscribe(t.Context(), "work.a", make(catcher, 10), patterns.SubscribeOptions{})
		require.ErrorIs(t, err, patterns.ErrUnreachable)
		require.Equal(t, []wire.Interest{{Pattern: "work", Queue: "q", Weight: 1}}, r.told())
		time.Sleep(3 * redialTime)
		require.Equal(t, []wire.Interest{{Pattern: "work", Queue: "q", Weight: 2}}, r.told())
		require.NoError(t, l.Close())
	})
}
