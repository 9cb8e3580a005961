// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"strings"
	"testing"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Play plays a scenario file's content in a test, with handlers of the
// program's own: those that the file names by handler: {kind: go, name: …}. It
// fails t, with what was broken, unless every assertion and every checker
// holds, and returns the verdict. file is the name that errors have.
func Play(t *testing.T, file string, content []byte, handlers map[string]patterns.Handler) *check.Verdict {
	t.Helper()
	s, err := scenario.Parse(file, content)
	if err == nil {
		s, err = s.Expand()
	}
	if err != nil {
		t.Fatal(err)
	}
	var h *history.History
	sim.Run(t, sim.Config{Seed: s.Seed}, func(_ *testing.T, n *sim.Network) {
		h, err = play.Play(context.Background(), New(n, Config{Seed: s.Seed}), s, play.Options{Handlers: handlers})
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := check.LevelRules("sim")
	for _, a := range s.Assert {
		rules.Assert = append(rules.Assert, string(a))
	}
	for _, a := range s.Sometimes {
		rules.Sometimes = append(rules.Sometimes, string(a))
	}
	v := check.Judge(h, rules)
	if !v.OK {
		var text strings.Builder
		_ = v.WriteText(&text)
		t.Errorf("%s, seed %d:\n%s", s.Name, s.Seed, text.String())
	}
	return v
}
