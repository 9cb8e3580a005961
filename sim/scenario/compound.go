// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"time"
)

// How many links one action may hit that has to look at each of them.
const (
	maxSwizzle  = 5000
	maxDegraded = 4_000_000
)

// rolling shuts the nodes down and starts them again one after the other.
func (x *expander) rolling(path string, a Action) {
	down, every := orDefault(a.Down, DefaultDown), orDefault(a.Every, DefaultEvery)
	nodes := x.pick(a.Nodes)
	if end := a.At + Duration(len(nodes)-1)*every + down; end > x.s.Duration {
		x.add(path, "the last of %d nodes would be back at %v, after the end at %v", len(nodes), end, x.s.Duration)
		return
	}
	for i, name := range nodes {
		at := a.At + Duration(i)*every
		x.away(path, "stop", name, at, at+down)
	}
}

// pairs are the links between two lists, each once.
func pairs(sides [][]string) [][2]string {
	var all [][2]string
	seen := map[[2]string]bool{}
	for _, a := range sides[0] {
		for _, b := range sides[1] {
			if a == b || seen[[2]string{b, a}] {
				continue
			}
			seen[[2]string{a, b}] = true
			all = append(all, [2]string{a, b})
			if len(all) > maxSwizzle {
				return all
			}
		}
	}
	return all
}

// swizzle cuts links one by one and mends them in another order.
func (x *expander) swizzle(path string, a Action) {
	links := pairs(x.sides(a))
	if len(links) > maxSwizzle {
		x.add(path, "swizzles more than %d links", maxSwizzle)
		return
	}
	every := orDefault(a.Every, DefaultSwizzle)
	last := Duration(max(len(links)-1, 0)) * every
	mend := a.At + max(a.For, last+every)
	if end := mend + last; end > x.s.Duration {
		x.add(path, "the last of %d links would be mended at %v, after the end at %v", len(links), end, x.s.Duration)
		return
	}
	r := x.stream(path, a)
	both := func(at Duration, do string, link [2]string) {
		x.put(path, false, Action{At: at, Do: do, Between: [][]string{{link[0]}, {link[1]}}})
		x.put(path, false, Action{At: at, Do: do, Between: [][]string{{link[1]}, {link[0]}}})
	}
	for i, n := range r.order(len(links)) {
		both(a.At+Duration(i)*every, "cut", links[n])
	}
	for i, n := range r.order(len(links)) {
		both(mend+Duration(i)*every, "mend", links[n])
	}
}

// corrupt draws a pair of nodes, once or every so long.
func (x *expander) corrupt(path string, a Action) {
	links := pairs(x.sides(a))
	if len(links) == 0 {
		x.add(path, "there is no link between a node and itself")
		return
	}
	r := x.stream(path, a)
	for at := a.At; ; at += a.Every {
		link := links[r.below(int64(len(links)))]
		x.put(path, false, Action{At: at, Do: "corrupt", Between: [][]string{{link[0]}, {link[1]}}})
		if a.Every == 0 || at+a.Every > a.At+a.For || len(x.steps) > MaxActions {
			return
		}
	}
}

// degrade replaces the model of links; what undoes it names the models of the
// file again, one action for each.
func (x *expander) degrade(path string, a Action) {
	sides := x.sides(a)
	if n := len(sides[0]) * len(sides[1]); n > maxDegraded {
		x.add(path, "degrades %d links, more than %d", n, maxDegraded)
		return
	}
	link := a.Link.withDefaults()
	link.Between = nil
	x.put(path, false, Action{At: a.At, Do: "degrade", Between: sides, Link: &link})
	if a.For == 0 {
		return
	}
	for _, part := range x.byLink(sides) {
		old := x.s.Links[part.link]
		old.Between = nil
		x.putBack(path, Action{At: a.At + a.For, Do: "degrade", Between: part.sides, Link: &old})
	}
}

// part is a part of two sides whose links have the same model.
type part struct {
	link  int
	sides [][]string
}

// byLink splits the links between two sides by their model in the file.
func (x *expander) byLink(sides [][]string) []part {
	models := map[int]bool{}
	each := make([]map[int][]string, len(sides[0])) // of each first node: model → second nodes
	for i, a := range sides[0] {
		each[i] = map[int][]string{}
		for _, b := range sides[1] {
			if a != b {
				l := x.index.link(a, b)
				models[l] = true
				each[i][l] = append(each[i][l], b)
			}
		}
	}
	var parts []part
	for l := range x.s.Links {
		if models[l] && len(models) == 1 {
			return []part{{l, sides}}
		}
		for i, a := range sides[0] {
			to := each[i][l]
			same := slices.IndexFunc(parts, func(p part) bool { return p.link == l && slices.Equal(p.sides[1], to) })
			switch {
			case len(to) == 0:
			case same >= 0:
				parts[same].sides[0] = append(parts[same].sides[0], a)
			default:
				parts = append(parts, part{l, [][]string{{a}, to}})
			}
		}
	}
	return parts
}

// churn has nodes leave at random times, and come back. It takes nobody who is
// away at that time for another reason.
func (x *expander) churn(path string, a Action) {
	nodes := x.pick(a.Nodes)
	down := orDefault(a.Down, DefaultDown)
	if end := a.At + a.For + down + down/2; end > x.s.Duration {
		x.add(path, "the last node could be back at %v only, after the end at %v", end, x.s.Duration)
		return
	}
	r := x.stream(path, a)
	away := x.absences()
	leaves := int64(len(nodes)) * int64(a.Share) / 1000 * int64(a.For/Duration(time.Millisecond)) / 60_000 / 1000
	if 2*leaves > MaxActions {
		x.add(path, "%d nodes would leave, more than %d", leaves, MaxActions/2)
		return
	}
	for range leaves {
		for range 20 { // draws again if the node is away
			name := nodes[r.below(int64(len(nodes)))]
			from := a.At + r.moment(0, a.For-1)
			until := from + r.moment(down-down/2, down+down/2)
			do := "stop"
			if r.chance(2) {
				do = "crash"
			}
			if away.take(name, from, until) {
				x.away(path, do, name, from, until)
				break
			}
		}
	}
}
