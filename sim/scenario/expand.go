// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Expand returns the explicit form: the seed has decided everything that was
// left to it, defaults are filled in, members and callers are lists of nodes,
// and the timeline is a list of primitive actions ordered by time, each with
// one node or two lists of nodes. Links keep their selectors and end with one
// that fits every pair. Expanding twice is expanding once. The error is an
// *Error. s is not changed.
func (s Scenario) Expand() (Scenario, error) {
	out, found := s.expanded()
	if len(found) > 0 {
		return Scenario{}, found.err()
	}
	return out, nil
}

// expanded is Expand with everything that is wrong.
func (s Scenario) expanded() (Scenario, problems) {
	if found := s.fields(); len(found) > 0 {
		return Scenario{}, found
	}
	return s.expand()
}

// step is one primitive action on its way into the expanded timeline.
type step struct {
	Action
	path string // of the action of the file it comes from
	auto bool   // it undoes something by itself, and need not if that is undone already
}

// network is what a timeline is about: a scenario and its names.
type network struct {
	s     Scenario
	index *Index
}

// expander turns a timeline into steps.
type expander struct {
	network
	steps  []step
	floods int
	problems
}

// expand is Expand for a scenario whose fields are checked.
func (s Scenario) expand() (Scenario, problems) {
	if s.Generate != nil {
		s = generated(s)
	}
	s = filledIn(s)
	x := &expander{network: network{s, NewIndex(s)}}
	x.names()
	var random []int
	for i, a := range s.Timeline {
		if a.Do == "churn" { // it avoids nodes that others take down
			random = append(random, i)
			continue
		}
		x.action(fmt.Sprintf("timeline[%d]", i), a)
	}
	for _, i := range random {
		x.churn(fmt.Sprintf("timeline[%d]", i), s.Timeline[i])
	}
	x.order()
	x.heal()
	if len(x.problems) == 0 && len(x.steps) > MaxActions {
		x.add("timeline", "expands to %d actions, more than %d", len(x.steps), MaxActions)
	}
	x.lives()
	x.s.Timeline = nil
	for _, st := range x.steps {
		x.s.Timeline = append(x.s.Timeline, st.Action)
	}
	return x.s, x.problems
}

// names replaces the selectors of clusters and callers.
func (x *expander) names() {
	for i, c := range x.s.Clusters {
		x.s.Clusters[i].Members = x.index.withoutGateways(x.pick(c.Members))
		x.s.Clusters[i].Keys = x.keys(c.Keys)
	}
	for i, s := range x.s.Subscriptions {
		x.s.Subscriptions[i].Nodes = x.index.withoutGateways(x.pick(s.Nodes))
	}
	for i, w := range x.s.Workload {
		x.s.Workload[i].From = x.index.withoutGateways(x.pick(w.From))
	}
}

func (x *expander) pick(selectors []string) []string {
	names, err := x.index.Select(selectors...)
	if err != nil {
		x.add("", "%v", err)
	}
	return names
}

// keys resolves the selectors of explicit cluster keys. The more exact one
// decides: a node, then its group, its zone, and everybody.
func (x *expander) keys(keys map[string]string) map[string]string {
	if len(keys) == 0 {
		return nil
	}
	labels := map[string]string{}
	for _, name := range x.index.Names() {
		group, _, _ := x.index.Group(name)
		for _, sel := range []string{name, group.Name, "zone:" + group.Zone, "*"} {
			if label, ok := keys[sel]; ok {
				labels[name] = label
				break
			}
		}
	}
	return labels
}

// put appends a primitive action.
func (x *expander) put(path string, auto bool, a Action) {
	if len(x.steps) <= MaxActions {
		x.steps = append(x.steps, step{a, path, auto})
	}
}

// order sorts the steps by time; what is simultaneous stays in the order of
// the file.
func (x *expander) order() {
	slices.SortStableFunc(x.steps, func(a, b step) int { return cmp.Compare(a.At, b.At) })
}

// action expands anything but churn.
func (x *expander) action(path string, a Action) {
	if a.Times > 0 {
		times, every := a.Times, a.Every
		a.Times, a.Every = 0, 0
		for i := range min(times, MaxActions) {
			again := a
			again.At += Duration(i) * every
			x.action(path, again)
		}
		return
	}
	switch a.Do {
	case "start", "restart", "resume", "ban", "move":
		x.each(path, a, "", nil)
	case "stop", "crash", "silence":
		a.For += a.Down
		identity := a.Identity
		a.Identity = ""
		x.each(path, a, "restart", func(undo *Action) { undo.Identity = identity })
	case "pause":
		x.each(path, a, "resume", nil)
	case "slow":
		x.each(path, a, "slow", func(undo *Action) { undo.Factor = 1 })
	case "skew":
		x.each(path, a, "skew", func(undo *Action) { undo.Offset, undo.Drift = 0, 0 })
	case "router":
		x.each(path, a, "router", func(undo *Action) { undo.Mode = "" })
	case "attack":
		x.each(path, a, "attack", func(undo *Action) { undo.Mode, undo.On = "", "" })
	case "cut", "mend", "clog", "unclog":
		x.oneWay(path, a, x.sides(a))
	case "partition-oneway":
		a.Do = "cut"
		x.oneWay(path, a, x.sides(a))
	case "partition":
		a.Do = "cut"
		sides := x.sides(a)
		if x.oneWay(path, a, sides) {
			x.oneWay(path, a, [][]string{sides[1], sides[0]})
		}
	case "degrade":
		x.degrade(path, a)
	case "corrupt":
		x.corrupt(path, a)
	case "break":
		x.breaks(path, a)
	case "swizzle":
		x.swizzle(path, a)
	case "flood":
		x.flood(path, a)
	case "rotate", "revoke":
		x.together(path, a)
	case "heal":
		x.put(path, false, Action{At: a.At, Do: "heal"})
	case "rolling-restart":
		x.rolling(path, a)
	case "mass-restart":
		a.Do, a.For, a.Down = "crash", cmp.Or(a.Down, DefaultDown), 0
		x.each(path, a, "restart", nil)
	}
}

// each does an action to each node, and undoes it after a while.
func (x *expander) each(path string, a Action, undo string, normal func(*Action)) {
	nodes := x.pick(a.Nodes)
	switch {
	case ofNetwork(a.Do):
		nodes = x.index.withoutClients(nodes)
	case a.Do == "silence":
		nodes = x.powerless(a)
	}
	for _, name := range nodes {
		do := a
		do.Nodes, do.For, do.Down = []string{name}, 0, 0
		x.put(path, false, do)
	}
	if a.For == 0 || undo == "" {
		return
	}
	for _, name := range nodes {
		back := Action{At: a.At + a.For, Do: undo, Nodes: []string{name}}
		if normal != nil {
			normal(&back)
		}
		x.putBack(path, back)
	}
}

// away takes one node away for a while.
func (x *expander) away(path, do, name string, from, until Duration) {
	x.put(path, false, Action{At: from, Do: do, Nodes: []string{name}})
	x.put(path, true, Action{At: until, Do: "restart", Nodes: []string{name}})
}

// putBack appends an action that undoes one, unless that is after the end: the
// liveness phase heals what is left, and who is away then stays away.
func (x *expander) putBack(path string, a Action) {
	if a.At > x.s.Duration {
		x.add(path, "%s would end at %v, after the end at %v", a.Do, a.At, x.s.Duration)
		return
	}
	x.put(path, true, a)
}

// sides returns the two lists of nodes of an action on links; clients have none.
func (x *expander) sides(a Action) [][]string {
	if len(a.Nodes) > 0 {
		inside := x.index.withoutClients(x.pick(a.Nodes))
		return [][]string{inside, x.index.withoutClients(x.others(inside))}
	}
	return [][]string{x.index.withoutClients(x.pick(a.Between[0])), x.index.withoutClients(x.pick(a.Between[1]))}
}

// others is everybody who is not in the list.
func (x *expander) others(list []string) []string {
	in := setOf(list)
	return slices.DeleteFunc(slices.Clone(x.index.Names()), func(name string) bool { return in[name] })
}

// oneWay does an action to one direction, and undoes it after a while. It
// returns false if that is impossible.
func (x *expander) oneWay(path string, a Action, sides [][]string) bool {
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		x.add(path, "there is nobody on the other side")
		return false
	}
	x.put(path, false, Action{At: a.At, Do: a.Do, Between: sides})
	if a.For > 0 {
		undo := map[string]string{"cut": "mend", "clog": "unclog"}[a.Do]
		x.putBack(path, Action{At: a.At + a.For, Do: undo, Between: sides})
	}
	return true
}

// flood makes the times of the work explicit; they count from the action.
func (x *expander) flood(path string, a Action) {
	a.For = cmp.Or(a.For, x.s.Duration-a.At)
	w := a.Work.withDefaults(defaultName("flood", x.floods), a.For)
	x.floods++
	w.From = x.index.withoutGateways(x.pick(w.From))
	x.put(path, false, Action{At: a.At, Do: "flood", For: a.For, Work: &w})
}

// stream is the random stream of the action at a path.
func (x *expander) stream(path string, a Action) stream {
	return newStream(x.s.Seed, "timeline", path, a.Do, strconv.FormatInt(int64(a.At), 10))
}

// How many links one action may hit that has to look at each of them.
const (
	maxSwizzle  = 5000
	maxDegraded = 4_000_000
)

// rolling shuts the nodes down and starts them again one after the other.
func (x *expander) rolling(path string, a Action) {
	down, every := cmp.Or(a.Down, DefaultDown), cmp.Or(a.Every, DefaultEvery)
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

// together keeps the nodes of a rotation, or of a revocation, together: they read one
// file, or are on one list.
func (x *expander) together(path string, a Action) {
	a.Nodes = x.index.withoutGateways(x.index.withoutClients(x.pick(a.Nodes)))
	if end := a.At + SpreadTakes(a); end > x.s.Duration {
		x.add(path, "the last of %d nodes would have its news at %v, after the end at %v", len(a.Nodes), end, x.s.Duration)
		return
	}
	x.put(path, false, a)
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
	every := cmp.Or(a.Every, DefaultSwizzle)
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
	for _, from := range sides[0] {
		for _, to := range sides[1] {
			if from != to && x.index.link(from, to) != x.index.link(to, from) {
				x.add(path, "the link between %s and %s differs by direction in the file (one_way), which degrade can't restore; degrade others", from, to)
				return
			}
		}
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
func (x *network) byLink(sides [][]string) []part {
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
	down := cmp.Or(a.Down, DefaultDown)
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
