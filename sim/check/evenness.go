// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "slices"

// evenness is by how much the busiest of a group is busier than the mean, of the
// worst group.
type evenness struct {
	worst   float64
	samples int
}

// add takes what each of a group got. One alone, and nothing, say nothing.
func (e *evenness) add(got []int) {
	sum := 0
	for _, n := range got {
		sum += n
	}
	if len(got) > 1 && sum > 0 {
		e.worst = max(e.worst, float64(slices.Max(got))*float64(len(got))/float64(sum))
		e.samples += len(got)
	}
}

func (e *evenness) measure(s sheet, name string) {
	if e.samples > 0 {
		s[name] = Metric{Value: e.worst, Unit: Ratio, Samples: e.samples}
	}
}
