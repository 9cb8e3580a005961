// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import "slices"

// ActionInfo describes one word that `do:` may have.
type ActionInfo struct {
	Name     string
	About    string   // a sentence
	Needs    []string // fields it must have; "a or b" = exactly one of the two
	Takes    []string // fields it may have; "a or b" = at most one of the two
	Compound bool     // it is never part of an expanded scenario
}

// Actions returns every action, in the order of the documentation.
func Actions() []ActionInfo {
	nodes, between := []string{"nodes"}, []string{"between"}
	return []ActionInfo{
		{"start", "Starts nodes that have not run yet; their group's start no longer counts.", nodes, nil, false},
		{"restart", "Starts nodes that were stopped, crashed or silenced, each with a new incarnation.", nodes, nil, false},
		{"stop", "Shuts nodes down gracefully: they leave, finish what they accepted, and go.", nodes, []string{"for or down"}, false},
		{"crash", "Kills the processes: peers see their connections reset at once.", nodes, []string{"for or down"}, false},
		{"silence", "Cuts the power: peers see nothing at all. The clients on the machine of a relay are lost with it.", nodes, []string{"for or down"}, false},
		{"pause", "Stops the nodes while their clocks run, as a stalled machine does; of a relay and its clients only those that are named.", nodes, []string{"for"}, false},
		{"resume", "Lets paused nodes go on.", nodes, nil, false},
		{"slow", "Makes the handlers of the nodes take factor times as long; 1 is normal.", []string{"nodes", "factor"}, []string{"for"}, false},
		{"cut", "Nothing passes from the first nodes to the second; what was under way arrives.", between, []string{"for"}, false},
		{"mend", "Ends a cut from the first nodes to the second.", between, nil, false},
		{"clog", "Nothing passes from the first nodes to the second meanwhile, and nothing is lost: it waits.", between, []string{"for"}, false},
		{"unclog", "Ends a clog from the first nodes to the second.", between, nil, false},
		{"degrade", "Replaces the model of the links between the nodes, both ways; undone, they are as the file has them.", []string{"between", "link"}, []string{"for"}, false},
		{"skew", "Sets the clocks of the nodes off by offset and lets them drift; with neither they are right again.", nodes, []string{"offset", "drift", "for"}, false},
		{"corrupt", "Flips a bit in the next frame from one of the first nodes to one of the second; with every, another pair each time.", between, []string{"every", "for"}, false},
		{"break", "Resets the connections between the first nodes and the second, once or every so long; between a client and its relay it is the local socket. Both ends may connect again at once. Level sim only.", between, []string{"every", "for"}, false},
		{"router", "Makes what nodes are told about who is near slow, stale or wrong (mode); without a mode it is right again.", nodes, []string{"mode", "for"}, false},
		{"flood", "Sends a second workload for a while.", []string{"work"}, []string{"for"}, false},
		{"heal", "Ends every cut, clog, degradation, pause, skew and router fault.", nil, nil, false},
		{"partition", "Cuts both ways between the first nodes and the second, or between the nodes and all others.", []string{"between or nodes"}, []string{"for"}, true},
		{"partition-oneway", "Cuts from the first nodes to the second; the other way stays open.", between, []string{"for"}, true},
		{"swizzle", "Cuts the links between the nodes one by one in random order, every so long, and mends them in another random order after a while (for).", between, []string{"every", "for"}, true},
		{"churn", "A share of the nodes per minute leaves, half of them with a crash, and comes back; at random times.", []string{"nodes", "share", "for"}, []string{"down"}, true},
		{"rolling-restart", "Shuts the nodes down and starts them again, one after the other.", nodes, []string{"every", "down"}, true},
		{"mass-restart", "Crashes all the nodes at once and starts them all at once.", nodes, []string{"down"}, true},
	}
}

// actionNames are the names of Actions.
func actionNames() []string {
	all := Actions()
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
	}
	return names
}

// actionInfo looks an action up.
func actionInfo(name string) (ActionInfo, bool) {
	all := Actions()
	i := slices.IndexFunc(all, func(a ActionInfo) bool { return a.Name == name })
	if i < 0 {
		return ActionInfo{}, false
	}
	return all[i], true
}

// given lists the fields of an action that a file has set, besides at and do,
// in the order of the type.
func (a Action) given() []string {
	var fields []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"nodes", len(a.Nodes) > 0},
		{"between", len(a.Between) > 0},
		{"for", a.For != 0},
		{"every", a.Every != 0},
		{"down", a.Down != 0},
		{"factor", a.Factor != 0},
		{"offset", a.Offset != 0},
		{"drift", a.Drift != 0},
		{"share", a.Share != 0},
		{"mode", a.Mode != ""},
		{"link", a.Link != nil},
		{"work", a.Work != nil},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}
