// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"sync/atomic"
	"time"
)

// latenessStep and latenessSteps are the resolution and the range of lateness.
const (
	latenessStep  = 10 * time.Microsecond
	latenessSteps = 1000 // 10 ms; what is later counts as that
)

// lateness counts how late deliveries were. It may be used concurrently; the
// zero value is ready.
type lateness struct {
	counts [latenessSteps]atomic.Uint64
}

func (l *lateness) add(late time.Duration) {
	l.counts[max(0, min(late/latenessStep, latenessSteps-1))].Add(1)
}

// percentile returns the lateness that so many percent did not exceed; 0 if
// there were none.
func (l *lateness) percentile(p uint64) time.Duration {
	var total uint64
	for i := range l.counts {
		total += l.counts[i].Load()
	}
	var seen uint64
	for i := range l.counts {
		if seen += l.counts[i].Load(); seen > 0 && seen*100 >= total*p {
			return time.Duration(i+1) * latenessStep
		}
	}
	return 0
}
