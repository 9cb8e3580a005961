// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"strconv"
	"time"
)

// What a file leaves out.
const (
	DefaultSeed     = 1
	DefaultSettle   = Duration(10 * time.Second)
	DefaultLatency  = Duration(5 * time.Millisecond)
	DefaultJitter   = Duration(time.Millisecond) // of links without a latency of their own
	DefaultQueue    = Bytes(256 << 10)
	DefaultSize     = Bytes(100)
	DefaultDeadline = Duration(5 * time.Second)
	DefaultMessages = 100 // of a tunnel
	DefaultCode     = 500
	DefaultDown     = Duration(time.Second)            // of restarts and churn
	DefaultEvery    = Duration(2 * time.Second)        // between the nodes of a rolling restart
	DefaultSwizzle  = Duration(100 * time.Millisecond) // between the links of a swizzle
)

// Levels are where scenarios run, the default one first.
func Levels() []string { return []string{"sim", "stack", "net"} }

// withDefaults returns a copy in which everything that a file may leave out is
// explicit. It shares no slice that it changes with s.
func (s Scenario) withDefaults() Scenario {
	if s.Seed == 0 {
		s.Seed = DefaultSeed
	}
	if len(s.Levels) == 0 {
		s.Levels = Levels()
		if s.simOnly() {
			s.Levels = s.Levels[:1]
		}
	}
	if s.Settle == 0 {
		s.Settle = DefaultSettle
	}
	s.Links = slices.Clone(s.Links)
	if !slices.ContainsFunc(s.Links, Link.everywhere) {
		s.Links = append(s.Links, Link{Between: []string{"*", "*"}})
	}
	for i, l := range s.Links {
		s.Links[i] = l.withDefaults()
	}
	s.Clusters = slices.Clone(s.Clusters)
	for i, c := range s.Clusters {
		s.Clusters[i].Handler = c.Handler.withDefaults()
	}
	s.Subscriptions = slices.Clone(s.Subscriptions)
	for i, sub := range s.Subscriptions {
		s.Subscriptions[i] = sub.withDefaults(i)
	}
	s.Workload = slices.Clone(s.Workload)
	for i, w := range s.Workload {
		s.Workload[i] = w.withDefaults(w.called(i), s.Duration)
	}
	return s
}

func (l Link) everywhere() bool {
	return len(l.Between) == 2 && l.Between[0] == "*" && l.Between[1] == "*"
}

func (l Link) withDefaults() Link {
	if l.Latency == 0 {
		l.Latency = DefaultLatency
		if l.Jitter == 0 {
			l.Jitter = DefaultJitter
		}
	}
	if l.Mbps > 0 && l.Queue == 0 {
		l.Queue = DefaultQueue
	}
	return l
}

func (h Handler) withDefaults() Handler {
	switch h.Kind {
	case "":
		h.Kind = "echo"
	case "failing":
		if h.Every == 0 {
			h.Every = 1
		}
		if h.Code == 0 {
			h.Code = DefaultCode
		}
	}
	return h
}

// called is the name of a workload that has none of its own.
func (w Work) called(i int) string {
	if w.Kind == "" {
		return defaultName(WorkKinds()[0], i)
	}
	return defaultName(w.Kind, i)
}

func (w Work) withDefaults(name string, stop Duration) Work {
	if w.Name == "" {
		w.Name = name
	}
	if w.Kind == "" {
		w.Kind = WorkKinds()[0]
	}
	if w.Kind == "tunnel" && w.Messages == 0 {
		w.Messages = DefaultMessages
	}
	if w.Size == 0 {
		w.Size = DefaultSize
	}
	if w.Deadline == 0 {
		w.Deadline = DefaultDeadline
	}
	if w.Stop == 0 {
		w.Stop = stop
	}
	return w
}

// defaultName names the first thing of a kind after the kind, the others with
// a number behind it.
func defaultName(kind string, i int) string {
	if i == 0 {
		return kind
	}
	return kind + strconv.Itoa(i+1)
}
