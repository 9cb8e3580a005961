// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/bench/system"
)

func entry(name string) Entry { return Entry{Label: name, System: system.System{Name: name}} }

func TestSystemsTakeTurns(t *testing.T) {
	// This test checks the order of runs: workload by workload, in each round all
	// systems, another one first each time; workloads that belong together share
	// their rounds.
	job := func(work, together string, systems ...string) Job {
		j := Job{Work: Workload{Name: work, Together: together}}
		for _, s := range systems {
			j.Among = append(j.Among, entry(s))
		}
		return j
	}
	p := Plan{Rounds: 2, Quiet: 1, Log: io.Discard, Jobs: []Job{
		job("w", "", "a", "b"), job("x", "", "a"), job("y", "both", "a"), job("z", "both", "a", "b"), job("v", "", "c"),
	}}
	var order []string
	samples := p.each(t.Context(), func(e Entry, w Workload) Sample {
		order = append(order, w.Name+e.Label)
		return Sample{}
	})
	require.Equal(t, []string{"wa", "wb", "wb", "wa", "xa", "xa", "ya", "za", "zb", "za", "zb", "ya", "vc", "vc"}, order)
	for i, s := range samples {
		require.Equal(t, order[i], s.Workload+s.System)
	}
	require.Equal(t, []int{0, 0, 1, 1}, []int{samples[0].Round, samples[1].Round, samples[2].Round, samples[3].Round})
}

func TestADisturbedRunIsMadeAgain(t *testing.T) {
	// This test checks that a run beside which others were busy, or which failed,
	// is made again, that the quieter one counts, and that it is marked if both
	// were disturbed.
	type run struct {
		others float64
		failed string
	}
	for _, c := range []struct {
		runs  []run
		made  int
		best  float64
		noisy bool
		fails bool
	}{
		{[]run{{0.01, ""}}, 1, 0.01, false, false},
		{[]run{{0.3, ""}, {0.02, ""}}, 2, 0.02, false, false},
		{[]run{{0.3, ""}, {0.4, ""}}, 2, 0.3, true, false},
		{[]run{{0.01, "ended"}, {0.2, ""}}, 2, 0.2, true, false},
		{[]run{{0.2, ""}, {0.01, "ended"}}, 2, 0.2, true, false},
		{[]run{{0, "ended"}, {0, "ended"}}, 2, 0, false, true},
	} {
		made := 0
		p := Plan{Quiet: 0.05, Again: 1}
		s := p.quietRun(turn{entry("a"), Workload{Name: "w"}}, func(Entry, Workload) Sample {
			made++
			return Sample{Others: c.runs[made-1].others, Failed: c.runs[made-1].failed}
		})
		require.Equal(t, c.made, made, fmt.Sprint(c))
		require.Equal(t, c.best, s.Others, fmt.Sprint(c))
		require.Equal(t, c.noisy, s.Noisy, fmt.Sprint(c))
		require.Equal(t, c.fails, s.Failed != "", fmt.Sprint(c))
	}
}

func TestHalfTheRateIsThatOfTheSlower(t *testing.T) {
	// This test checks that an open loop at half the capacity has half of the
	// slower system's median, whole hundreds, and is left out if one has none.
	rates := map[string][]float64{"a": {9000, 30_000, 10_050}, "b": {40_000, 40_000, 40_000}, "c": {0, 0, 0}}
	plan := func(systems ...string) Plan {
		p := Plan{Rounds: 3, Quiet: 1, Log: io.Discard, Jobs: []Job{
			{Work: Workload{Name: "capacity"}}, {Work: Workload{Name: "half", HalfOf: "capacity"}},
		}}
		for _, s := range systems {
			p.Jobs[0].Among = append(p.Jobs[0].Among, entry(s))
			p.Jobs[1].Among = append(p.Jobs[1].Among, entry(s))
		}
		return p
	}
	var offered []float64
	runs := map[string]int{}
	run := func(e Entry, w Workload) Sample {
		if w.Name == "half" {
			offered = append(offered, w.Rate)
			return Sample{}
		}
		s := Sample{Rate: rates[e.Label][runs[e.Label]]}
		if runs[e.Label]++; s.Rate == 0 {
			s.Failed = "no reply"
		}
		return s
	}
	plan("a", "b").each(t.Context(), run)
	require.Equal(t, []float64{5000, 5000, 5000, 5000, 5000, 5000}, offered)
	offered, runs = nil, map[string]int{}
	plan("b", "c").each(t.Context(), run)
	require.Empty(t, offered)
}

func TestAnInterruptedPlanKeepsWhatItHas(t *testing.T) {
	// This test checks that the samples so far are there when the plan is stopped.
	ctx, stop := context.WithCancel(t.Context())
	p := Plan{Rounds: 5, Quiet: 1, Log: io.Discard, Jobs: []Job{{Work: Workload{Name: "w"}, Among: []Entry{entry("a")}}}}
	samples := p.each(ctx, func(Entry, Workload) Sample {
		stop()
		return Sample{}
	})
	require.Len(t, samples, 1)
}

func TestPgbenchIsUnderstood(t *testing.T) {
	// This test checks what is read of what pgbench prints, of versions 13 and 15.
	for text, want := range map[string]transactions{
		"number of transactions actually processed: 4170\nlatency average = 9.6 ms\ntps = 833.512 (without initial connection time)\n":                {4170, 0, 833.512},
		"number of transactions actually processed: 4170\nnumber of failed transactions: 3 (0.072%)\ntps = 833.5 (without initial connection time)\n": {4170, 3, 833.5},
		"number of transactions actually processed: 4170/4170\ntps = 900.1 (including connections establishing)\n":                                    {4170, 0, 900.1},
	} {
		got, err := parsePgbench(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "tps = fast\n", "number of transactions actually processed: \n"} {
		_, err := parsePgbench(text)
		require.Error(t, err, text)
	}
}

func TestWorkIsForThoseWhoCanDoIt(t *testing.T) {
	// This test checks, for each system, which workloads it is given.
	names := func(system string) (names []string) {
		for _, w := range Workloads() {
			if w.Suits(find(t, system)) {
				names = append(names, w.Name)
			}
		}
		return names
	}
	require.Equal(t, []string{"1to1-16", "1to1-1k", "1to1-64k", "tunnels-2k", "tunnels-10k"}, names("arke-tunnel"))
	require.Equal(t, []string{"1to1-16", "1to1-1k", "1to1-64k", "tunnels-2k"}, names("arke-tunnel-2relays"))
	require.Equal(t, []string{"1to1-16", "1to1-1k", "1to1-64k", "1to4", "1to16", "4to4"}, names("redis"))
	require.Equal(t, []string{"pgbench", "pgbench-reads"}, names("direct"))
	require.Contains(t, names("nats"), "clients-1k")
	require.NotContains(t, names("arke"), "clients-1k")
	require.NotContains(t, names("tls"), "balance-1")
	for _, s := range system.All() {
		require.NotEmpty(t, names(s.Name), s.Name)
	}
}

func find(t *testing.T, name string) system.System {
	t.Helper()
	s, err := system.Find(name)
	require.NoError(t, err)
	return s
}

func TestProcessorTimeIsCounted(t *testing.T) {
	// This test checks that a process's processor time grows while it works and
	// that its children are found.
	program := []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 20 & wait"}
	s, err := newSite("", 1)
	require.NoError(t, err)
	defer s.close()
	_, err = s.Launch("", nil, program...)
	require.NoError(t, err)
	pid := s.servers[0].Process.Pid
	require.Eventually(t, func() bool { return len(family(pid)) == 2 }, startTime, edge/50)
	require.Positive(t, cpuClock(pid))
	require.Positive(t, peakBytes(pid))
}
