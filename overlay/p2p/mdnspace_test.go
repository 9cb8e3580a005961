// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// drive calls due whenever wake says so, for a while, and returns at which
// times it asked and answered.
func drive(p *pace, now time.Time, span time.Duration) (asks, answers []time.Duration, _ time.Time) {
	begun := now
	for {
		ask, answer := p.due(now)
		if ask {
			asks = append(asks, now.Sub(begun))
		}
		for range answer {
			answers = append(answers, now.Sub(begun))
		}
		wake := p.wake()
		if wake.IsZero() || wake.Sub(begun) > span {
			return asks, answers, begun.Add(span)
		}
		if !wake.After(now) {
			panic("does not advance")
		}
		now = wake
	}
}

func plain(d time.Duration) time.Duration { return d }

// This test checks that a node asks and announces at once, announces once
// more, and then asks ever less.
func TestPaceSlowsDown(t *testing.T) {
	p := pace{jitter: plain}
	now := time.Unix(100, 0)
	p.begin(now, []int{1, 2})
	asks, answers, _ := drive(&p, now, 3*time.Minute)
	s := time.Second
	require.Equal(t, []time.Duration{0, 1 * s, 5 * s, 21 * s, 81 * s, 141 * s}, asks)
	require.Equal(t, []time.Duration{0, 0, repeatAfter, repeatAfter}, answers)
}

// This test checks that questions are answered on the interface where they
// were asked, at once or after the gap, once for many.
func TestPaceAnswersOnceForMany(t *testing.T) {
	p := pace{jitter: plain}
	now := time.Unix(100, 0)
	p.begin(now, []int{1, 2})
	_, _, now = drive(&p, now, 10*time.Second)
	p.asked(now, 2)
	p.asked(now, 7) // none of ours
	_, answer := p.due(now)
	require.Equal(t, []int{2}, answer)
	for range 5 {
		p.asked(now, 2)
	}
	_, answers, _ := drive(&p, now, time.Second)
	require.Equal(t, []time.Duration{answerGap}, answers)
}

// This test checks that hearing others ask saves questions, but not the first
// ones of a node that has just come.
func TestPaceIsSavedQuestionsByOthers(t *testing.T) {
	p := pace{jitter: plain}
	now := time.Unix(100, 0)
	p.begin(now, []int{1})
	p.asked(now, 1)
	asks, _, now := drive(&p, now, 10*time.Second)
	require.Len(t, asks, 3)
	for range 100 {
		p.asked(now, 1)
		asks, _, now = drive(&p, now, 10*time.Second)
		require.Empty(t, asks)
	}
	p.begin(now, nil)
	require.True(t, p.wake().IsZero(), "without an interface there is nothing to wake up for")
	ask, answer := p.due(now.Add(time.Hour))
	require.False(t, ask)
	require.Empty(t, answer)
}
