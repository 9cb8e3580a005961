// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIntakeTakesEachFrameOnce(t *testing.T) {
	// This test has sessions begin where the sender's pipe says, and counts what
	// is taken of the frames that follow.
	type session struct {
		pipe, first uint64
		foreign     bool // for an earlier life
		frames      int
		hole        bool
		fresh       int
		next        uint64
	}
	for name, sessions := range map[string][]session{
		"in order":              {{pipe: 1, first: 1, frames: 3, fresh: 3, next: 4}},
		"what is new only":      {{pipe: 1, first: 1, frames: 3, fresh: 3, next: 4}, {pipe: 1, first: 2, frames: 4, fresh: 2, next: 6}},
		"all again":             {{pipe: 1, first: 1, frames: 3, fresh: 3, next: 4}, {pipe: 1, first: 1, frames: 2, next: 4}, {pipe: 1, first: 1, frames: 4, fresh: 1, next: 5}},
		"after a hole":          {{pipe: 1, first: 1, frames: 3, fresh: 3, next: 4}, {pipe: 1, first: 6, frames: 1, hole: true, fresh: 1, next: 7}},
		"of another pipe":       {{pipe: 1, first: 1, frames: 3, fresh: 3, next: 4}, {pipe: 2, first: 1, frames: 2, fresh: 2, next: 3}},
		"of one that goes on":   {{pipe: 2, first: 5, frames: 2, hole: true, fresh: 2, next: 7}},
		"not of another life":   {{pipe: 1, first: 1, foreign: true, frames: 3, next: 4}, {pipe: 1, first: 4, frames: 1, fresh: 1, next: 5}},
		"what is not announced": {{frames: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			var i intake
			for _, s := range sessions {
				if s.first > 0 {
					require.Equal(t, s.hole, i.resume(s.pipe, s.first, !s.foreign))
				}
				fresh := 0
				for range s.frames {
					switch i.arrive(1) {
					case arrivedFresh:
						fresh++
					case arrivedForEarlier:
						require.True(t, s.foreign)
					case arrivedUnannounced:
						require.Zero(t, s.first)
					}
				}
				require.Equal(t, s.fresh, fresh)
				require.Equal(t, s.next, i.next)
				i.end()
				require.Equal(t, arrivedUnannounced, i.arrive(1))
			}
		})
	}
}

func TestIntakeIsAcknowledgedByFramesAndBytes(t *testing.T) {
	// This test counts until an acknowledgement is due.
	var i intake
	i.resume(1, 1, true)
	for n := range ackFrames {
		require.False(t, i.due(), n)
		i.arrive(1)
	}
	require.True(t, i.due())
	i.acknowledged()
	require.False(t, i.due())
	i.arrive(ackBytes)
	require.True(t, i.due())
}
