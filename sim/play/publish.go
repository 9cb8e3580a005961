// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// publish publishes one message.
func (p *player) publish(l *life, h history.Publication, w scenario.Work) {
	wait := orWait(w)
	h.Peer, h.Size, h.Sent, h.Ended = l.Peer(), max(8, orSize(w)), p.level.Now(), -1
	h.Deadline = h.Sent + wait
	p.record.publishing(h)
	ctx, cancel := l.Within(wait)
	defer cancel()
	err := l.Publish(ctx, h.Topic, patterns.Message{Body: body(h.ID, h.Size)})
	outcome, _, detail := outcomeOf(err)
	if err == nil {
		outcome = "published"
	}
	p.record.published(h.ID, p.level.Now(), outcome, detail)
	p.level.Note(h.Publisher, fmt.Sprintf("%x %s", h.ID, outcome))
}

// publishes says whether anything is published at all.
func publishes(s scenario.Scenario) bool {
	is := func(w scenario.Work) bool { return w.Kind == "publish" }
	return slices.ContainsFunc(s.Workload, is) ||
		slices.ContainsFunc(s.Timeline, func(a scenario.Action) bool { return a.Work != nil && is(*a.Work) })
}

// topicOf is the topic of publication k of a work.
func topicOf(w scenario.Work, k int) string {
	if w.Topics == 0 {
		return w.To
	}
	return fmt.Sprintf("%s.%d", w.To, k%w.Topics+1)
}
