// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"

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

// topicOf is the topic of publication k of a work.
func topicOf(w scenario.Work, k int) string {
	if w.Topics == 0 {
		return w.To
	}
	return fmt.Sprintf("%s.%d", w.To, k%w.Topics+1)
}
