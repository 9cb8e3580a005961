// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
)

// Subscription is a pattern that some nodes subscribe to, each of them Count
// times. A node that comes back subscribes again.
type Subscription struct {
	Name        string   `yaml:"name,omitempty" json:"name,omitempty"`
	Nodes       []string `yaml:"nodes" json:"nodes"`                                   // selectors
	Pattern     string   `yaml:"pattern" json:"pattern"`                               // of topics
	Count       int      `yaml:"count,omitempty" json:"count,omitempty"`               // on each node; default 1
	Queue       string   `yaml:"queue,omitempty" json:"queue,omitempty"`               // each message goes to one of the queue
	NoEcho      bool     `yaml:"no_echo,omitempty" json:"no_echo,omitempty"`           // without what its own node publishes
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
	if s.Name == "" {
		s.Name = defaultName("subscription", i)
	}
	if s.Count == 0 {
		s.Count = 1
	}
	if s.Overflow == "" {
		s.Overflow = Overflows()[0]
	}
	return s
}

func (c *checker) subscriptions() {
	for i, s := range c.s.Subscriptions {
		c.subscription(fmt.Sprintf("subscriptions[%d]", i), s)
	}
}

func (c *checker) subscription(path string, s Subscription) {
	if len(s.Nodes) == 0 {
		c.add(path, "needs nodes: who subscribes")
	}
	c.selectors(path+".nodes", s.Nodes)
	if s.Pattern == "" {
		c.add(path, "needs a pattern")
	} else if why := badPattern(s.Pattern); why != "" {
		c.add(path+".pattern", "%q is no pattern: %s", short(s.Pattern), why)
	}
	if s.Queue != "" && !labelForm.MatchString(s.Queue) {
		c.add(path+".queue", "%q is not a name; use lower-case letters, digits, '.', '_' and -", short(s.Queue))
	}
	if s.Count < 0 || s.Count > MaxSubscriptions {
		c.add(path+".count", "%d is not between 1 and %d", s.Count, MaxSubscriptions)
	}
	if s.QueueLength < 0 {
		c.add(path+".queue_length", "%d is negative", s.QueueLength)
	}
	if s.Overflow != "" && !slices.Contains(Overflows(), s.Overflow) {
		c.add(path+".overflow", "unknown policy %q%s", short(s.Overflow), hint(s.Overflow, Overflows()))
	}
	c.span(path+".work", s.Work)
	c.span(path+".start", s.Start)
	c.span(path+".stop", s.Stop)
	end := c.s.Duration
	switch {
	case end <= 0:
	case s.Stop > end:
		c.add(path+".stop", "%v is after the end at %v", s.Stop, end)
	case s.Start >= end, s.Stop > 0 && s.Start >= s.Stop:
		c.add(path+".start", "%v is not before it stops", s.Start)
	}
}
