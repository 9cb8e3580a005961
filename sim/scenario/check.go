// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/relay/policy"
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

// check names everything that is impossible about the scenario. What a timeline does
// to nodes can only be seen in its expansion; it is tried if nothing else is wrong.
func (s Scenario) check() problems {
	_, found := s.expanded()
	return found
}

// fields checks everything that can be seen without expanding.
func (s Scenario) fields() problems {
	c := &checker{s: s}
	c.head()
	checkNetworks(c)
	c.groups()
	if len(c.problems) > 0 && len(s.Nodes) > 0 {
		return c.problems // whatever refers to nodes would fail for this reason
	}
	c.index = NewIndex(s)
	c.clients()
	checkGateways(c)
	if s.Generate == nil || len(s.Nodes) > 0 {
		c.clusters()
		for i, s := range c.s.Subscriptions {
			c.subscription(fmt.Sprintf("subscriptions[%d]", i), s)
		}
		c.links()
		c.workload()
		for i, a := range c.s.Timeline {
			c.action(fmt.Sprintf("timeline[%d]", i), a)
		}
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
	prefixForm = regexp.MustCompile(`^(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])\.(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])$`)
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	labelForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)
)

func (c *checker) head() {
	s := c.s
	if s.Name == "" {
		c.add("", "has no name")
	} else {
		c.name("name", s.Name)
	}
	for i, l := range s.Levels {
		path := fmt.Sprintf("levels[%d]", i)
		if c.word(path, "level", l, Levels()) && slices.Index(s.Levels, l) < i {
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
	for i, g := range groups(c.s) {
		path := groupPath(c.s, i)
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
				c.add(path, "%q is the name of something in %s already", name, groupPath(c.s, other))
				break
			}
			owner[name] = i
		}
	}
}

func (c *checker) group(path string, g Nodes) {
	c.name(path+".name", g.Name)
	c.number(path+".count", g.Count, 1, MaxNodes)
	c.labelOrNone(path+".zone", "name", g.Zone)
	c.labelOrNone(path+".key", "label", g.Key)
	if g.Prefix != "" && !prefixForm.MatchString(g.Prefix) {
		c.add(path+".prefix", "%q is not the beginning of an address; two numbers like 81.2", short(g.Prefix))
	}
	if _, err := policy.Parse(g.Policy, nil); err != nil {
		c.add(path+".policy", "%v", err)
	}
	c.labelOrNone(path+".token", "name", g.Token)
	if why := noCluster(c.s.Clusters, g.Near); g.Near != "" && why != "" {
		c.add(path+".near", "%s", why)
	}
	if field, why := badCertificate(g, c.s.Nodes); why != "" {
		c.add(path+field, "%s", why)
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
		if other, ok := names[cl.Name]; c.label(path+".name", "name", cl.Name) && ok {
			c.add(path+".name", "%q is the name of clusters[%d] already", cl.Name, other)
		}
		names[cl.Name] = i
		c.selectors(path+".members", cl.Members)
		noGateways(c, path+".members", "lends and serves nothing by itself", cl.Members)
		c.handler(path+".handler", cl.Handler)
		c.natural(path+".limits.concurrency", cl.Limits.Concurrency)
		c.natural(path+".limits.queue_length", cl.Limits.QueueLength)
		c.natural(path+".limits.capacity", cl.Limits.Capacity)
		c.natural(path+".limits.tunnels", cl.Limits.Tunnels)
		for _, sel := range sortedKeys(cl.Keys) {
			if _, err := c.index.Select(sel); err != nil {
				c.add(join(path+".keys", sel), "%v", err)
			} else {
				c.label(join(path+".keys", sel), "label", cl.Keys[sel])
			}
		}
	}
}

func (c *checker) handler(path string, h Handler) {
	if h.Kind != "" && !c.word(path+".kind", "handler", h.Kind, handlerKinds()) {
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
	c.number(path+".mbps", l.Mbps, 1, 1_000_000)
	c.number(path+".kbps", l.Kbps, 1, 1_000_000)
	if l.Mbps != 0 && l.Kbps != 0 {
		c.add(path+".kbps", "the rate is in mbps already: give one of the two")
	}
	if l.Queue < 0 || l.Queue > 0 && l.Mbps == 0 && l.Kbps == 0 {
		c.add(path+".queue", "means something with mbps or kbps only: there is no queue without a bottleneck")
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
	names := works(&c.s)
	if work := a.work(); work != "" && !slices.Contains(names, work) {
		c.add(path, "no workload or subscription is called %q%s", short(work), hint(work, names))
	}
}

// WorkKinds are what a workload may send, the default first.
func WorkKinds() []string {
	return []string{"request", "survey", "push", "broadcast", "publish", "tunnel"}
}

// What a workload may be at most.
const (
	MaxTopics   = 100_000
	MaxMessages = 10_000_000
	MaxRetries  = 15
)

func (c *checker) workload() {
	names := map[string]string{}
	for i, w := range c.s.Workload {
		path := fmt.Sprintf("workload[%d]", i)
		c.work(path, w)
		c.workName(path, w.Name, names)
	}
	for i, a := range c.s.Timeline {
		if a.Work != nil {
			c.workName(fmt.Sprintf("timeline[%d].work", i), a.Work.Name, names)
		}
	}
	for i, s := range c.s.Subscriptions {
		c.workName(fmt.Sprintf("subscriptions[%d]", i), s.Name, names)
	}
}

func (c *checker) workName(path, name string, names map[string]string) {
	switch {
	case name == "":
		return
	case name == "probe":
		c.add(path+".name", `"probe" is the name of what the liveness phase sends`)
	case c.label(path+".name", "name", name) && names[name] != "":
		c.add(path+".name", "%q is the name of %s already", name, names[name])
	}
	names[name] = path
}

func (c *checker) work(path string, w Work) {
	if w.Kind != "" {
		c.word(path+".kind", "kind", w.Kind, WorkKinds())
	}
	c.workFields(path, w)
	if len(w.From) == 0 {
		c.add(path, "needs from: who sends")
	}
	c.selectors(path+".from", w.From)
	noGateways(c, path+".from", "sends nothing by itself", w.From)
	c.workTo(path, w)
	if !(w.Rate > 0 && w.Rate <= MaxRate) || math.IsNaN(w.Rate) {
		c.add(path+".rate", "%v is not between 0 and %d per second", w.Rate, MaxRate)
	}
	if w.Size < 0 || w.Size > 0 && w.Size < 8 || w.Size > 64<<20 {
		c.add(path+".size", "%v is not between 8B, for the number of the request, and 64MiB", w.Size)
	}
	c.span(path+".deadline", w.Deadline)
	c.period(path, w.Start, w.Stop)
}

// period checks when something begins and ends.
func (c *checker) period(path string, start, stop Duration) {
	c.span(path+".start", start)
	c.span(path+".stop", stop)
	end := c.s.Duration
	if end <= 0 {
		return
	}
	if stop > end {
		c.add(path+".stop", "%v is after the end at %v", stop, end)
	}
	if start >= 0 && (stop > 0 && start >= stop || start >= end) {
		c.add(path+".start", "%v is not before it stops", start)
	}
}

// workFields checks the fields that only some kinds have.
func (c *checker) workFields(path string, w Work) {
	kind := cmp.Or(w.Kind, WorkKinds()[0])
	for _, f := range []struct {
		name  string
		kinds []string
		set   bool
	}{
		{"topics", []string{"publish"}, w.Topics != 0},
		{"messages", []string{"tunnel"}, w.Messages != 0},
		{"every", []string{"tunnel"}, w.Every != 0},
		{"idempotent", []string{"request", "push"}, w.Idempotent},
		{"retries", []string{"request", "push"}, w.Retries != 0},
	} {
		if f.set && !slices.Contains(f.kinds, kind) {
			c.add(path+"."+f.name, "means nothing for a %s; it is for %s", kind, strings.Join(f.kinds, " and "))
		}
	}
	c.number(path+".topics", w.Topics, 1, MaxTopics)
	c.number(path+".messages", w.Messages, 1, MaxMessages)
	c.number(path+".retries", w.Retries, 1, MaxRetries)
	c.span(path+".every", w.Every)
}

// inWords is what is wrong with a topic or a pattern, in the words of the product.
func inWords(err error) string { return strings.TrimPrefix(err.Error(), "arke: ") }

// workTo checks whom something is sent to.
func (c *checker) workTo(path string, w Work) {
	if w.Kind == "publish" {
		if w.To == "" {
			c.add(path, "needs to: a topic")
		} else if err := match.CheckTopic(w.To); err != nil {
			c.add(path+".to", "%s", inWords(err))
		}
		return
	}
	if w.To == "" {
		c.add(path, "needs to: a cluster")
	} else if why := noAddress(&c.s, w.To); why != "" {
		c.add(path+".to", "%s", why)
	}
}

// Subscription is a pattern that some nodes subscribe to, each of them Count
// times. A node that comes back subscribes again.
type Subscription struct {
	Name        string   `yaml:"name,omitempty" json:"name,omitempty"`
	Nodes       []string `yaml:"nodes" json:"nodes"`                                   // selectors
	Pattern     string   `yaml:"pattern" json:"pattern"`                               // of topics
	Count       int      `yaml:"count,omitempty" json:"count,omitempty"`               // on each node; default 1
	Queue       string   `yaml:"queue,omitempty" json:"queue,omitempty"`               // each message goes to one of the queue
	NoEcho      bool     `yaml:"no_echo,omitempty" json:"no_echo,omitempty"`           // without what its own node publishes
	Signed      bool     `yaml:"signed,omitempty" json:"signed,omitempty"`             // only what its publisher has signed
	Work        Duration `yaml:"work,omitempty" json:"work,omitempty"`                 // how long it takes for a message; default none
	QueueLength int      `yaml:"queue_length,omitempty" json:"queue_length,omitempty"` // default: Arke's, as the next two
	QueueBytes  Bytes    `yaml:"queue_bytes,omitempty" json:"queue_bytes,omitempty"`
	Overflow    string   `yaml:"overflow,omitempty" json:"overflow,omitempty"` // oldest (default), newest or block
	Start       Duration `yaml:"start,omitempty" json:"start,omitempty"`       // default: before the workload begins
	Stop        Duration `yaml:"stop,omitempty" json:"stop,omitempty"`         // default: never
}

// MaxSubscriptions is how many subscriptions a scenario may have on one node.
const MaxSubscriptions = 100_000

// Overflows are what a full subscription may do, the default first.
func Overflows() []string { return []string{"oldest", "newest", "block"} }

func (s Subscription) withDefaults(i int) Subscription {
	s.Name = cmp.Or(s.Name, defaultName("subscription", i))
	s.Count = cmp.Or(s.Count, 1)
	s.Overflow = cmp.Or(s.Overflow, Overflows()[0])
	return s
}

func (c *checker) subscription(path string, s Subscription) {
	if len(s.Nodes) == 0 {
		c.add(path, "needs nodes: who subscribes")
	}
	c.selectors(path+".nodes", s.Nodes)
	noGateways(c, path+".nodes", "subscribes to nothing by itself", s.Nodes)
	if s.Pattern == "" {
		c.add(path, "needs a pattern")
	} else if err := match.CheckPattern(s.Pattern); err != nil {
		c.add(path+".pattern", "%s", inWords(err))
	}
	c.labelOrNone(path+".queue", "name", s.Queue)
	c.number(path+".count", s.Count, 1, MaxSubscriptions)
	c.natural(path+".queue_length", s.QueueLength)
	if s.Overflow != "" {
		c.word(path+".overflow", "policy", s.Overflow, Overflows())
	}
	c.span(path+".work", s.Work)
	c.period(path, s.Start, s.Stop)
}

// Rules are what a run of the scenario at a level is judged by: the bounds that
// package check has for it, and the scenario's own assertions.
func (s *Scenario) Rules(level string) check.Rules {
	r := check.LevelRules(level)
	r.Assert, r.Sometimes = texts(s.Assert), texts(s.Sometimes)
	return r
}

func texts(all []Assertion) []string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = string(a)
	}
	return texts
}
