// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// doubt counts what observers wrongly believe of healthy members.
type doubt struct {
	suspicions int
	evictions  int
}

func (d *doubt) see(c *disturbance, s *sight) {
	if s.tenure < 0 {
		return
	}
	var before string
	for i := range s.changes {
		v := &s.changes[i]
		wrong := v.At >= s.truth.from && v.At < s.truth.until && s.when.covers(v.At) &&
			!c.pair(s.node.Name, s.of.Node, span{v.At, plus(v.At, time.Nanosecond)})
		switch {
		case !wrong:
		case doubts(v) && before != "suspect" && before != "unreachable":
			d.suspicions++
		case v.State == "" && before != "":
			d.evictions++
		}
		before = v.State
	}
}

func doubts(v *history.View) bool { return v.State == "suspect" || v.State == "unreachable" }
