// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

// drawPatterns makes the drawings of topics and tunnels.
func (p *page) drawPatterns(a axis, h *history.History, topics []*topicLine, tunnels []*tunnelLine, all []band) {
	if len(topics) > 0 {
		p.TopicChart = rowsChart(a, h, "Deliveries of topics over time", topics, maxTopicLines, all)
		p.TopicNote = excerpt(maxTopicLines, len(topics), "groups")
	}
	if len(tunnels) > 0 {
		p.TunnelChart = rowsChart(a, h, "Open tunnels and their bytes over time", tunnels, maxTunnelLines, all)
		p.TunnelNote = excerpt(maxTunnelLines, len(tunnels), "workloads")
	}
}

// carried says in the lead what was published and tunnelled.
func (r *Report) carried() (parts []string) {
	count := func(metric string) int { return int(r.Metrics[metric].Value) }
	if n := count("published"); n > 0 {
		parts = append(parts, fmt.Sprintf("%s made %s, and %s were reported as missing",
			plural(n, "publication"), deliveries(count("deliveries")), svg.Grouped(count("reported"))))
	}
	if n := count("tunnels"); n > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s ended well", svg.Grouped(count("tunnels_done")), plural(n, "tunnel")))
	}
	return parts
}

// topicSection is the section of what subscriptions got, or nil.
func (p *page) topicSection() markup.Node {
	if p.TopicChart == nil {
		return nil
	}
	return section("topics", "Topics", figure(p.TopicChart,
		"What each group of subscriptions got, by the time at which it came, "+p.Bucket+" to a column; how long it took since it was published, "+
			"on a logarithmic scale. “Reported” are messages of which a subscription was told that it missed them, when it was told."+after(p.TopicNote)))
}

// tunnelSection is the section of what tunnels carried, or nil.
func (p *page) tunnelSection() markup.Node {
	if p.TunnelChart == nil {
		return nil
	}
	return section("tunnels", "Tunnels", figure(p.TunnelChart,
		"Tunnels that were open, and the bytes of the messages that came out of them, by the time at which they did. "+
			"“Ended badly” are those that broke, were reset or could not be opened, without those whose own caller was stopped, lost or paused."+after(p.TunnelNote)))
}
