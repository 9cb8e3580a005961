// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package notice_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/internal/notice"
	"github.com/arke-mesh/arke/overlay"
)

// said writes lines as "reason: times of all".
func said(lines []notice.Line) (all []string) {
	for _, l := range lines {
		enc := zapcore.NewMapObjectEncoder()
		for _, f := range l.Fields {
			f.AddTo(enc)
		}
		all = append(all, fmt.Sprintf("%v: %v of %v", enc.Fields["limit"], enc.Fields["times"], enc.Fields["since_start"]))
	}
	return all
}

func TestALimitIsSaidAtOnceAndThenOnceAMinute(t *testing.T) {
	// This test checks that the first time is said, that what follows is added up for
	// a minute, that one which is not reached again says nothing more, and that what
	// is dropped for other reasons is no limit.
	begin := time.Unix(1e9, 0)
	var l notice.Limits
	for _, step := range []struct {
		after  time.Duration
		counts map[string]uint64
		says   []string
	}{
		{0, map[string]uint64{"request.queue_length": 0, "request.malformed": 7}, nil},
		{5 * time.Second, map[string]uint64{"request.queue_length": 3, "overlay.lane_full_rpc": 1}, []string{"overlay.lane_full_rpc: 1 of 1", "request.queue_length: 3 of 3"}},
		{10 * time.Second, map[string]uint64{"request.queue_length": 40, "overlay.lane_full_rpc": 1}, nil},
		{64 * time.Second, map[string]uint64{"request.queue_length": 90, "overlay.lane_full_rpc": 1}, nil},
		{65 * time.Second, map[string]uint64{"request.queue_length": 91, "overlay.lane_full_rpc": 1}, []string{"request.queue_length: 88 of 91"}},
		{time.Hour, map[string]uint64{"request.queue_length": 91, "overlay.lane_full_rpc": 1}, nil},
		{2 * time.Hour, map[string]uint64{"request.queue_length": 92}, []string{"request.queue_length: 1 of 92"}},
	} {
		require.Equal(t, step.says, said(l.Step(begin.Add(step.after), step.counts)), step.after)
	}
}

func TestManyIsToldWithHysteresis(t *testing.T) {
	// This test checks that a number near the bound is no news again and again.
	m := notice.Many{From: 100}
	var news []string
	for _, n := range []int{0, 99, 100, 99, 101, 50, 99, 49, 60, 99, 100} {
		became, ceased := m.Step(n)
		news = append(news, fmt.Sprint(n, became, ceased))
	}
	require.Equal(t, []string{
		"0 false false", "99 false false", "100 true false", "99 false false", "101 false false", "50 false false",
		"99 false false", "49 false true", "60 false false", "99 false false", "100 true false",
	}, news)
}

func TestChangesOfASetAreTold(t *testing.T) {
	// This test checks what came and what has gone, each once.
	var c notice.Changes[string]
	for _, step := range []struct{ now, came, gone []string }{
		{nil, nil, nil},
		{[]string{"a", "b"}, []string{"a", "b"}, nil},
		{[]string{"b", "a"}, nil, nil},
		{[]string{"b", "c"}, []string{"c"}, []string{"a"}},
		{nil, nil, []string{"b", "c"}},
	} {
		came, gone := c.Step(step.now)
		require.Equal(t, step.came, came)
		require.Equal(t, step.gone, gone)
	}
}

func TestAWatchLooksUntilItIsStopped(t *testing.T) {
	// This test checks the pace, that lines go to the log with their level, that none
	// comes after Stop, and that nobody looks where nothing is logged.
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		looks := 0
		look := func(time.Time) []notice.Line {
			looks++
			return []notice.Line{{Text: "something"}, {Warn: true, Text: "something bad"}}
		}
		w := notice.NewWatch(overlay.NewRealClock(), zap.New(core), look)
		w.Start()
		time.Sleep(2*notice.Every + time.Second)
		w.Stop()
		w.Stop()
		time.Sleep(time.Hour)
		require.Equal(t, 2, looks)
		require.Len(t, logs.FilterMessage("something").FilterLevelExact(zap.InfoLevel).All(), 2)
		require.Len(t, logs.FilterMessage("something bad").FilterLevelExact(zap.WarnLevel).All(), 2)

		deaf := notice.NewWatch(overlay.NewRealClock(), zap.NewNop(), look)
		deaf.Start()
		time.Sleep(time.Hour)
		deaf.Stop()
		require.Equal(t, 2, looks)
	})
}

func TestAFailureThatRepeatsItselfIsToldOnceAMinute(t *testing.T) {
	// This test checks that the first is told at once, and the others in numbers.
	var s notice.Seldom
	begin := time.Unix(1, 0)
	require.Equal(t, 1, s.Step(begin))
	for i := range 10 {
		require.Zero(t, s.Step(begin.Add(time.Duration(i)*time.Second)))
	}
	require.Equal(t, 11, s.Step(begin.Add(notice.Again)))
	require.Zero(t, s.Step(begin.Add(notice.Again+time.Second)))
}
