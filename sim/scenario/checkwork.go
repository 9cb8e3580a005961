// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// WorkKinds are what a workload may send, the default first.
func WorkKinds() []string {
	return []string{"request", "survey", "push", "broadcast", "publish", "tunnel"}
}

// What a workload may be at most.
const (
	MaxTopics   = 100_000
	MaxMessages = 10_000_000
)

func (c *checker) workload() {
	names := map[string]string{}
	for i, w := range c.s.Workload {
		path := fmt.Sprintf("workload[%d]", i)
		c.work(path, w, c.s.Duration)
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
	case !labelForm.MatchString(name):
		c.add(path+".name", "%q is not a name; use lower-case letters, digits, '.', '_' and -", short(name))
	case names[name] != "":
		c.add(path+".name", "%q is the name of %s already", name, names[name])
	}
	names[name] = path
}

func (c *checker) work(path string, w Work, end Duration) {
	if w.Kind != "" && !slices.Contains(WorkKinds(), w.Kind) {
		c.add(path+".kind", "unknown kind %q%s", short(w.Kind), hint(w.Kind, WorkKinds()))
	}
	c.workFields(path, w)
	if len(w.From) == 0 {
		c.add(path, "needs from: who sends")
	}
	c.selectors(path+".from", w.From)
	c.workTo(path, w)
	if !(w.Rate > 0 && w.Rate <= MaxRate) || math.IsNaN(w.Rate) {
		c.add(path+".rate", "%v is not between 0 and %d per second", w.Rate, MaxRate)
	}
	if w.Size < 0 || w.Size > 0 && w.Size < 8 || w.Size > 64<<20 {
		c.add(path+".size", "%v is not between 8B, for the number of the request, and 64MiB", w.Size)
	}
	c.span(path+".deadline", w.Deadline)
	c.span(path+".start", w.Start)
	c.span(path+".stop", w.Stop)
	if end > 0 && w.Stop > end {
		c.add(path+".stop", "%v is after the end at %v", w.Stop, end)
	}
	if stop := max(w.Stop, 0); end > 0 && w.Start >= 0 && (stop > 0 && w.Start >= stop || w.Start >= end) {
		c.add(path+".start", "%v is not before it stops", w.Start)
	}
}

// workFields checks the fields that only some kinds have.
func (c *checker) workFields(path string, w Work) {
	kind := w.Kind
	if kind == "" {
		kind = WorkKinds()[0]
	}
	for _, f := range []struct {
		name  string
		kinds []string
		set   bool
	}{
		{"topics", []string{"publish"}, w.Topics != 0},
		{"messages", []string{"tunnel"}, w.Messages != 0},
		{"every", []string{"tunnel"}, w.Every != 0},
		{"idempotent", []string{"request", "push"}, w.Idempotent},
	} {
		if f.set && !slices.Contains(f.kinds, kind) {
			c.add(path+"."+f.name, "means nothing for a %s; it is for %s", kind, strings.Join(f.kinds, " and "))
		}
	}
	if w.Topics < 0 || w.Topics > MaxTopics {
		c.add(path+".topics", "%d is not between 1 and %d", w.Topics, MaxTopics)
	}
	if w.Messages < 0 || w.Messages > MaxMessages {
		c.add(path+".messages", "%d is not between 1 and %d", w.Messages, MaxMessages)
	}
	c.span(path+".every", w.Every)
}

// workTo checks whom something is sent to.
func (c *checker) workTo(path string, w Work) {
	if w.Kind == "publish" {
		if w.To == "" {
			c.add(path, "needs to: a topic")
		} else if why := badTopic(w.To); why != "" {
			c.add(path+".to", "%q is no topic: %s", short(w.To), why)
		}
		return
	}
	clusters := make([]string, len(c.s.Clusters))
	for i, cl := range c.s.Clusters {
		clusters[i] = cl.Name
	}
	if w.To == "" {
		c.add(path, "needs to: a cluster")
	} else if !slices.Contains(clusters, w.To) {
		c.add(path+".to", "no cluster is called %q%s", short(w.To), hint(w.To, clusters))
	}
}
