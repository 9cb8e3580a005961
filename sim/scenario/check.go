// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/check"
)

// What a scenario may be at most. They are far beyond what a machine can run
// and keep a typing error from filling its memory.
const (
	MaxNodes    = 100_000
	MaxDuration = Duration(24 * time.Hour)
	MaxRate     = 1_000_000
	MaxActions  = 200_000 // after Expand
)

// Validate returns an *Error that names everything that is impossible about
// the scenario, or nil.
func (s Scenario) Validate() error { return s.check().err() }

// check is Validate. What a timeline does to nodes can only be seen in its
// expansion; it is tried if nothing else is wrong.
func (s Scenario) check() problems {
	if found := s.fields(); len(found) > 0 {
		return found
	}
	_, found := s.expand()
	return found
}

// fields checks everything that can be seen without expanding.
func (s Scenario) fields() problems {
	c := &checker{s: s}
	c.head()
	c.groups()
	if len(c.problems) > 0 && len(s.Nodes) > 0 {
		return c.problems // whatever refers to nodes would fail for this reason
	}
	c.index = NewIndex(s)
	c.clients()
	if s.Generate == nil || len(s.Nodes) > 0 {
		c.clusters()
		c.subscriptions()
		c.links()
		c.workload()
		c.timeline()
	}
	c.ranges()
	c.assertions()
	return c.problems
}

// checker collects the problems of one scenario.
type checker struct {
	s     Scenario
	index *Index
	problems
}

var (
	nameForm  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	labelForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)
)

func (c *checker) head() {
	s := c.s
	if s.Name == "" {
		c.add("", "has no name")
	} else if !nameForm.MatchString(s.Name) {
		c.add("name", "%q is not a name; use lower-case letters, digits and -, 40 at most", short(s.Name))
	}
	for i, l := range s.Levels {
		path := fmt.Sprintf("levels[%d]", i)
		if !slices.Contains(Levels(), l) {
			c.add(path, "unknown level %q%s", short(l), hint(l, Levels()))
		} else if slices.Index(s.Levels, l) < i {
			c.add(path, "%q is given twice", l)
		}
	}
	switch {
	case s.Duration == 0 && s.Generate == nil:
		c.add("", "has no duration")
	case s.Duration < 0 || s.Duration > MaxDuration:
		c.add("duration", "%v is not between 0 and %v", s.Duration, MaxDuration)
	}
	if s.Settle < 0 || s.Settle > MaxDuration {
		c.add("settle", "%v is not between 0 and %v", s.Settle, MaxDuration)
	}
}

func (c *checker) groups() {
	if len(c.s.Nodes) == 0 && c.s.Generate == nil {
		c.add("", "has no nodes")
	}
	owner, total := map[string]int{}, 0
	for i, g := range c.s.Nodes {
		path := fmt.Sprintf("nodes[%d]", i)
		c.group(path, g)
		if g.Count < 0 || g.Count > MaxNodes {
			continue
		}
		if total += max(g.Count, 1); total > MaxNodes {
			c.add(path, "there are more than %d nodes", MaxNodes)
			return
		}
		for _, name := range append(g.Names(), g.Name) {
			if other, taken := owner[name]; taken && other != i {
				c.add(path, "%q is the name of something in nodes[%d] already", name, other)
				break
			}
			owner[name] = i
		}
	}
}

func (c *checker) group(path string, g Nodes) {
	if !nameForm.MatchString(g.Name) {
		c.add(path+".name", "%q is not a name; use lower-case letters, digits and -, 40 at most", short(g.Name))
	}
	if g.Count < 0 || g.Count > MaxNodes {
		c.add(path+".count", "%d is not between 1 and %d", g.Count, MaxNodes)
	}
	if g.Zone != "" && !labelForm.MatchString(g.Zone) {
		c.add(path+".zone", "%q is not a name; use lower-case letters, digits, '.', '_' and -", short(g.Zone))
	}
	if g.Key != "" && !labelForm.MatchString(g.Key) {
		c.add(path+".key", "%q is not a label; use lower-case letters, digits, '.', '_' and -", short(g.Key))
	}
	c.span(path+".start", g.Start)
	c.span(path+".every", g.Every)
	if g.Start < 0 || g.Every < 0 || c.s.Duration <= 0 {
		return
	}
	if g.Every > 0 && g.Count < 2 {
		c.add(path+".every", "means nothing for a single node")
	}
	if last := g.Start + Duration(max(g.Count-1, 0))*g.Every; last > c.s.Duration {
		c.add(path, "the last node starts at %v, after the end at %v", last, c.s.Duration)
	}
}

// span checks a length of time that may be zero.
func (c *checker) span(path string, d Duration) {
	switch {
	case d < 0:
		c.add(path, "%v is negative", d)
	case d > MaxDuration:
		c.add(path, "%v is longer than %v", d, MaxDuration)
	}
}

// selectors checks that each selects somebody.
func (c *checker) selectors(path string, selectors []string) {
	for i, sel := range selectors {
		if _, err := c.index.Select(sel); err != nil {
			c.add(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
	}
}

func (c *checker) clusters() {
	names := map[string]int{}
	for i, cl := range c.s.Clusters {
		path := fmt.Sprintf("clusters[%d]", i)
		if !labelForm.MatchString(cl.Name) {
			c.add(path+".name", "%q is not a name; use lower-case letters, digits, '.', '_' and -", short(cl.Name))
		} else if other, ok := names[cl.Name]; ok {
			c.add(path+".name", "%q is the name of clusters[%d] already", cl.Name, other)
		}
		names[cl.Name] = i
		c.selectors(path+".members", cl.Members)
		c.handler(path+".handler", cl.Handler)
		c.limits(path+".limits", cl.Limits)
		for _, sel := range sortedKeys(cl.Keys) {
			if _, err := c.index.Select(sel); err != nil {
				c.add(join(path+".keys", sel), "%v", err)
			} else if !labelForm.MatchString(cl.Keys[sel]) {
				c.add(join(path+".keys", sel), "%q is not a label; use lower-case letters, digits, '.', '_' and -", short(cl.Keys[sel]))
			}
		}
	}
}

func (c *checker) handler(path string, h Handler) {
	if !slices.Contains(handlerKinds(), h.Kind) && h.Kind != "" {
		c.add(path+".kind", "unknown handler %q%s", short(h.Kind), hint(h.Kind, handlerKinds()))
		return
	}
	c.span(path+".work", h.Work)
	c.span(path+".jitter", h.Jitter)
	for _, f := range []struct {
		name, kind string
		set        bool
	}{
		{"work", "slow", h.Work != 0},
		{"jitter", "slow", h.Jitter != 0},
		{"every", "failing", h.Every != 0},
		{"code", "failing", h.Code != 0},
		{"name", "go", h.Name != ""},
	} {
		if f.set && h.Kind != f.kind {
			c.add(path+"."+f.name, "only a %s handler takes it", f.kind)
		}
	}
	switch {
	case h.Kind == "slow" && h.Work == 0:
		c.add(path, "a slow handler needs work")
	case h.Kind == "failing" && h.Every < 0:
		c.add(path+".every", "%d is negative", h.Every)
	case h.Kind == "go" && h.Name == "":
		c.add(path, "a go handler needs the name that the program gave it")
	}
}

func handlerKinds() []string { return []string{"echo", "slow", "failing", "go"} }

func (c *checker) limits(path string, l Limits) {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"concurrency", l.Concurrency},
		{"queue_length", l.QueueLength},
		{"capacity", l.Capacity},
		{"tunnels", l.Tunnels},
	} {
		if f.value < 0 {
			c.add(path+"."+f.name, "%d is negative", f.value)
		}
	}
}

func (c *checker) links() {
	for i, l := range c.s.Links {
		path := fmt.Sprintf("links[%d]", i)
		if len(l.Between) != 2 {
			c.add(path+".between", "has %d selectors, but a link is between two", len(l.Between))
		}
		c.selectors(path+".between", l.Between)
		c.link(path, l)
	}
}

// link checks the model of a link.
func (c *checker) link(path string, l Link) {
	c.span(path+".latency", l.Latency)
	c.span(path+".jitter", l.Jitter)
	if l.Loss > Whole {
		c.add(path+".loss", "%v is more than everything", l.Loss)
	}
	if l.Mbps < 0 || l.Mbps > 1_000_000 {
		c.add(path+".mbps", "%d is not between 1 and 1000000", l.Mbps)
	}
	if l.Queue < 0 || l.Queue > 0 && l.Mbps == 0 {
		c.add(path+".queue", "means something with mbps only: there is no queue without a bottleneck")
	}
}

func (c *checker) assertions() {
	for i, a := range c.s.Assert {
		c.assertion(fmt.Sprintf("assert[%d]", i), a)
	}
	for i, a := range c.s.Sometimes {
		c.assertion(fmt.Sprintf("sometimes[%d]", i), a)
	}
}

// work is the workload, or the subscription, that a claim is about; "" is all
// of them.
func (a Assertion) work() string {
	metric, _, _ := strings.Cut(string(a), "}")
	_, work, _ := strings.Cut(metric, "{")
	return work
}

func (c *checker) assertion(path string, a Assertion) {
	if strings.TrimSpace(string(a)) == "" {
		c.add(path, "is empty")
		return
	}
	if _, err := check.ParseAssertion(string(a)); err != nil {
		c.add(path, "%s", strings.TrimPrefix(err.Error(), "check: "))
		return
	}
	works := c.s.works()
	if work := a.work(); work != "" && !slices.Contains(works, work) {
		c.add(path, "no workload or subscription is called %q%s", short(work), hint(work, works))
	}
}
