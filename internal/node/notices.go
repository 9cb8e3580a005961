// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/notice"
)

// manyClusters is of how many clusters a node is an anchor for the log to say so: what
// it then has to do for others can be seen.
const manyClusters = 100

// notices is what the log says of a node's numbers. It belongs to its watch.
type notices struct {
	watch  *notice.Watch
	limits notice.Limits
	anchor notice.Many
	addrs  notice.Changes[string]
}

// look takes in the numbers of a node.
func (n *notices) look(now time.Time, drops map[string]uint64, anchors AnchorStatus, addrs []string) []notice.Line {
	news := n.limits.Step(now, drops)
	holds := []zap.Field{zap.Int("clusters", anchors.Clusters), zap.Int("leases", anchors.Leases), zap.Int("watches", anchors.Watches)}
	switch became, ceased := n.anchor.Step(anchors.Clusters); {
	case became:
		news = append(news, notice.Line{Text: "this node has become an anchor of many clusters", Fields: holds})
	case ceased:
		news = append(news, notice.Line{Text: "this node is no longer an anchor of many clusters", Fields: holds})
	}
	came, gone := n.addrs.Step(addrs)
	if len(came)+len(gone) > 0 {
		news = append(news, notice.Line{Text: "the addresses of this node have changed", Fields: []zap.Field{
			zap.Strings("addrs", addrs), zap.Strings("new", came), zap.Strings("gone", gone),
		}})
	}
	return news
}

// newNotices returns what looks at the node's numbers once it is started.
func newNotices(l *layers) *notices {
	n := &notices{anchor: notice.Many{From: manyClusters}}
	n.watch = notice.NewWatch(l.outside.Clock, l.log(), func(now time.Time) []notice.Line {
		c := l.clusters.Status()
		drops := l.drops(c.Drops)
		for reason, count := range l.topics.Status().Inboxes.Drops {
			drops["inbox."+reason] = count
		}
		return n.look(now, drops, AnchorStatus{c.Anchored, c.Leases, c.Watches}, l.overlay.Addrs())
	})
	return n
}

// start begins to look. The addresses that the node has now are no news.
func (n *notices) start(addrs []string) {
	n.addrs.Step(addrs)
	n.watch.Start()
}
