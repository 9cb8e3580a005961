// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/arke-mesh/arke/sim/report/internal/markup"

// memberSection is the section of what each member did, or nil.
func (p *page) memberSection() markup.Node {
	if len(p.Members) == 0 {
		return nil
	}
	return section("members", "Requests per member", figure(p.MemberChart,
		"Requests that a member’s handler began, over time. "+p.MemberNote+
			" The thin bar below is the time in which the member was registered; shaded are faults of its node."))
}

// nodeSection is the section of what each node sent, or nil.
func (p *page) nodeSection() markup.Node {
	if p.NodeCount == 0 {
		return nil
	}
	key := func(class, meaning string) markup.Node {
		return markup.El("li", markup.El("i", markup.Class("k "+class)), markup.Text(meaning))
	}
	keys := markup.Group{
		key("life", "up"), key("absent", "not running"), key("f-frozen", "paused"),
		key("f-links", "links cut, clogged or degraded"), key("f-other", "slow, skewed, router fault or flood"),
	}
	for _, lane := range p.LaneLegend {
		keys = append(keys, key("l"+lane, "bytes on lane "+lane))
	}
	return section("nodes", "Lanes per node", markup.El("ul", markup.Class("legend"), keys), figure(p.NodeChart, p.NodeNote))
}

// viewSection is the section of how right the views were, or nil.
func (p *page) viewSection() markup.Node {
	if p.Sights == 0 {
		return nil
	}
	return section("views", "Views and convergence", figure(p.ViewChart,
		"A view is what one caller believes about one cluster. It is right if it shows every registered member as live and nobody who is gone; "+
			"“missing” and “dead” count the entries that are wrong, over all views."+after(p.ViewNote)))
}
