// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func TestWhatWaitsForALinkIsBounded(t *testing.T) {
	// This test has frames wait for a link that is being established, and goes
	// one over the bound on bytes and on frames: there is no room for it; what
	// waits is counted when the link fails, and nothing waits then.
	for name, c := range map[string]struct{ size, fits int }{
		"bytes":  {maxWaiting / 4, 4},
		"frames": {1, maxWaitingFrames},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLone(t)
			q := l.pipe("p")
			body := make([]byte, c.size)
			for range c.fits {
				require.True(t, q.hasRoom(c.size))
				v, _ := q.send(nil, wire.KindPublish, body)
				require.Equal(t, sent, v)
			}
			require.False(t, q.hasRoom(c.size))
			v, _ := q.send(nil, wire.KindPublish, body)
			require.Equal(t, full, v)
			require.Zero(t, l.dropped(dropUnsent))

			q.down(true)
			require.EqualValues(t, c.fits, l.dropped(dropUnsent))
			v, _ = q.send(nil, wire.KindPublish, body)
			require.Equal(t, lost, v, "it is not tried again at once")
		})
	}
}
