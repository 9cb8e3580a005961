// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimelineShowsTheKill(t *testing.T) {
	// This test checks the picture: a bar for each quarter of a second, a dot
	// where nothing came, and the moments below their columns.
	begin := time.Now()
	at := func(column int) time.Time { return begin.Add(time.Duration(column)*columnTime + columnTime/2) }
	l := newTimeline(begin)
	give := func(member string, column, replies, attempts int) {
		for range replies {
			l.add(answer{member: member, attempts: attempts, end: at(column)})
		}
	}
	for column := range 32 {
		give("zones-1", column, 4, 1)
		if column < 4 || column > 28 {
			give("zones-3", column, 8, 1)
		}
	}
	give("zones-1", 4, 2, 2)
	l.add(answer{err: errors.New("no luck"), end: at(5)})
	require.Equal(t, []string{
		"\neach column is 250ms, a full one 8 replies",
		"zones-1   ▄▄▄▄▆▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄",
		"zones-3   ████·························███",
		"retried   ····▂···························",
		"lost      ·····▁··························",
		"zones-3       ^ killed                 ^ back",
	}, l.picture("zones-3", at(4), at(29)))
}

func TestTimelineWithoutAKill(t *testing.T) {
	// This test checks that a story which ended early is drawn as far as it came.
	require.Equal(t, []string{"\neach column is 250ms, a full one 1 replies", "retried   ", "lost      ", "zones-3   "},
		newTimeline(time.Now()).picture("zones-3", time.Time{}, time.Time{}))
}
