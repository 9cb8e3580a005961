// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxSkew is how far a clock may be off.
const maxSkew = Duration(366 * 24 * time.Hour)

func (c *checker) timeline() {
	for i, a := range c.s.Timeline {
		c.action(fmt.Sprintf("timeline[%d]", i), a)
	}
}

func (c *checker) action(path string, a Action) {
	switch {
	case a.At < 0:
		c.add(path+".at", "%v is negative", a.At)
	case a.At > c.s.Duration && c.s.Duration > 0:
		c.add(path+".at", "%v is after the end at %v", a.At, c.s.Duration)
	}
	info, ok := actionInfo(a.Do)
	if !ok {
		if a.Do == "" {
			c.add(path, "needs do: what happens")
		} else {
			c.add(path+".do", "unknown action %q%s", short(a.Do), hint(a.Do, actionNames()))
		}
		return
	}
	c.fields(path, a, info)
	c.selectors(path+".nodes", a.Nodes)
	c.nodesOnly(path+".nodes", a.Do, a.Nodes)
	c.values(path, a)
	if len(a.Between) > 0 {
		c.between(path+".between", a)
	}
}

// fields checks that an action has the fields it needs and no other.
func (c *checker) fields(path string, a Action, info ActionInfo) {
	given := a.given()
	var known []string
	for _, needs := range info.Needs {
		choice := strings.Split(needs, " or ")
		known = append(known, choice...)
		if n := count(choice, given); n == 0 {
			c.add(path, "%s needs %s", a.Do, needs)
		} else if n > 1 {
			c.add(path, "%s takes %s, not both", a.Do, needs)
		}
	}
	for _, takes := range info.Takes {
		choice := strings.Split(takes, " or ")
		known = append(known, choice...)
		if count(choice, given) > 1 {
			c.add(path, "%s takes %s, not both", a.Do, takes)
		}
	}
	for _, f := range given {
		if !slices.Contains(known, f) {
			c.add(path+"."+f, "%s does not take it; it takes %s", a.Do, orNothing(known))
		}
	}
}

func orNothing(fields []string) string {
	if len(fields) == 0 {
		return "nothing"
	}
	return strings.Join(fields, ", ")
}

func count(names, in []string) int {
	n := 0
	for _, name := range names {
		if slices.Contains(in, name) {
			n++
		}
	}
	return n
}

// values checks the fields that are numbers, times or words.
func (c *checker) values(path string, a Action) {
	c.span(path+".for", a.For)
	c.span(path+".every", a.Every)
	c.span(path+".down", a.Down)
	if a.Factor < 0 || a.Factor > 1_000_000 {
		c.add(path+".factor", "%d is not between 1 and 1000000", a.Factor)
	}
	if a.Offset > maxSkew || a.Offset < -maxSkew {
		c.add(path+".offset", "%v is more than a year", a.Offset)
	}
	if a.Drift > 100_000 || a.Drift < -100_000 {
		c.add(path+".drift", "%d is not between -100000 and 100000 parts per million", a.Drift)
	}
	if a.Share > Whole {
		c.add(path+".share", "%v is more than everything", a.Share)
	}
	if a.Mode != "" && !slices.Contains(routerModes(), a.Mode) {
		c.add(path+".mode", "unknown mode %q%s", short(a.Mode), hint(a.Mode, routerModes()))
	}
	if a.Link != nil {
		if len(a.Link.Between) > 0 {
			c.add(path+".link.between", "belongs to the action")
		}
		c.link(path+".link", *a.Link)
	}
	if a.Work != nil {
		c.work(path+".work", *a.Work, c.s.Duration)
		if a.Work.Start != 0 || a.Work.Stop != 0 && a.Work.Stop != a.For {
			c.add(path+".work", "a flood starts at its own time and stops after for; leave start and stop out")
		}
	}
	if at := a.At + a.For; a.Do != "" && a.At >= 0 && a.For > 0 && at > c.s.Duration && c.s.Duration > 0 {
		c.add(path+".for", "it would end at %v, after the end at %v", at, c.s.Duration)
	}
}

func routerModes() []string { return []string{"slow", "stale", "wrong"} }

// between checks the two sides of an action on links.
func (c *checker) between(path string, a Action) {
	if len(a.Between) != 2 {
		c.add(path, "has %d sides, but %s is between two", len(a.Between), a.Do)
		return
	}
	var sides [2][]string
	for i, side := range a.Between {
		if len(side) == 0 {
			c.add(fmt.Sprintf("%s[%d]", path, i), "names nobody")
			return
		}
		before := len(c.problems)
		c.selectors(fmt.Sprintf("%s[%d]", path, i), side)
		if len(c.problems) > before {
			return
		}
		c.nodesOnly(fmt.Sprintf("%s[%d]", path, i), a.Do, side)
		sides[i], _ = c.index.Select(side...)
	}
	if a.Do != "partition" && a.Do != "partition-oneway" {
		return
	}
	if both := common(sides[0], sides[1]); both != "" {
		c.add(path, "%s is on both sides", both)
	}
}

// common returns the first name that is in both lists, or "".
func common(a, b []string) string {
	in := make(map[string]bool, len(a))
	for _, name := range a {
		in[name] = true
	}
	for _, name := range b {
		if in[name] {
			return name
		}
	}
	return ""
}
