// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// interest is for how long after a request its caller certainly watches the
// cluster: watches outlive their last user by 30 s.
const interest = 20 * time.Second

// observation is one life of a node as an observer of one cluster.
type observation struct {
	life    int
	cluster string
	when    spans // while it certainly watched
}

type observer struct {
	life    int
	cluster string
}

// observations lists who observed what: nodes that sent requests to a cluster,
// as long as they did, and nodes that have a view of one without ever sending.
func (w *observers) observations() []observation {
	watched := make(map[observer][]span)
	for i := range w.h.Requests {
		r := &w.h.Requests[i]
		life := w.lives.at(r.Caller, r.Sent)
		if life < 0 {
			continue
		}
		k, s := observer{life, r.Cluster}, span{r.Sent, plus(r.Sent, interest)}
		list := watched[k]
		if n := len(list); n > 0 && list[n-1].from <= s.from && s.from <= list[n-1].until {
			list[n-1].until = max(list[n-1].until, s.until)
			continue
		}
		watched[k] = append(list, s)
	}
	silent := make(map[observer]time.Duration)
	for i := range w.h.Views {
		v := &w.h.Views[i]
		life := w.lives.at(v.Node, v.At)
		if life < 0 {
			continue
		}
		k := observer{life, v.Cluster}
		if first, seen := silent[k]; watched[k] == nil && (!seen || v.At < first) {
			silent[k] = v.At
		}
	}
	for k, first := range silent {
		watched[k] = []span{{first, forever}}
	}
	return w.ordered(watched)
}

func (w *observers) ordered(watched map[observer][]span) []observation {
	keys := slices.SortedFunc(maps.Keys(watched), func(a, b observer) int {
		return cmp.Or(cmp.Compare(a.life, b.life), cmp.Compare(a.cluster, b.cluster))
	})
	out := make([]observation, 0, len(keys))
	for _, k := range keys {
		whole := w.lives.during(k.life)
		list := watched[k]
		for i := range list {
			list[i] = list[i].meet(whole)
		}
		if when := merged(list); len(when) > 0 {
			out = append(out, observation{k.life, k.cluster, when})
		}
	}
	return out
}
