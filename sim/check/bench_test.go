// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// BenchmarkJudge judges a run of a thousand nodes: 300 members, 200 observers,
// of which each sees each member, 50 crashes, and 100,000 requests.
func BenchmarkJudge(b *testing.B) {
	s := &story{history.History{Start: sec, Safety: 61 * sec, End: 71 * sec}}
	for i := range 1000 {
		s.Nodes = append(s.Nodes, history.Node{Name: fmt.Sprint("n", i), From: 100 * ms, Until: -1, Correct: true})
	}
	for i := range 300 {
		s.serve(fmt.Sprint("n", i), 200*ms)
		for j := range 200 {
			s.view(sec, fmt.Sprint("n", 500+j), fmt.Sprint("n", i), "live")
		}
	}
	for i := range 100_000 {
		s.ask(sec+time.Duration(i)*600*time.Microsecond, fmt.Sprint("n", 500+i%200), 50+i%250, "load")
	}
	for i := range 50 {
		at := sec + time.Duration(i)*sec
		s.fault(at, -1, "crash", fmt.Sprint("n", i))
		s.Nodes[i].Until, s.Nodes[i].Correct = at, false
		s.Tenures[i].Leaving, s.Tenures[i].Until = at, at
		for j := range 200 {
			s.view(at+50*ms, fmt.Sprint("n", 500+j), fmt.Sprint("n", i), "")
		}
	}
	b.ResetTimer()
	for b.Loop() {
		if v := s.judge(check.Rules{}); len(v.Violations) > 0 {
			b.Fatal(v.Violations[0])
		}
	}
}
