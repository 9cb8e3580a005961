// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import "time"

// life is what a node is doing at some point of the timeline.
type life struct {
	up      bool
	paused  bool
	started bool     // an action started it, or it had its first start
	since   Duration // of the last change
	by      string   // the action that changed it
}

// lives plays the steps in their order, drops those that undo what is undone
// already, and reports what can't be: a crash of a node that does not run.
func (x *expander) lives() {
	all := make(map[string]*life, len(x.index.Names()))
	for _, name := range x.index.Names() {
		all[name] = &life{since: x.index.Starts(name)}
	}
	kept := x.steps[:0]
	for _, st := range x.steps {
		if st.Do == "heal" {
			for _, l := range all {
				l.paused = false
			}
		}
		if len(st.Nodes) != 1 {
			kept = append(kept, st)
			continue
		}
		name := st.Nodes[0]
		l := all[name]
		if !l.started && l.since <= st.At {
			l.up, l.started, l.by = true, true, "its start"
		}
		if reason := l.apply(st); reason == "" {
			kept = append(kept, st)
		} else if !st.auto {
			x.add(st.path, "%s of %s at %v: %s", st.Do, name, st.At, reason)
		}
	}
	x.steps = kept
}

// apply changes the life, or says why it can't be.
func (l *life) apply(st step) string {
	switch st.Do {
	case "start", "restart":
		if l.up {
			return "it runs"
		}
		if st.Do == "restart" && !l.started {
			return "it starts at " + l.since.String() + "; start it instead"
		}
		*l = life{up: true, started: true, since: st.At, by: st.Do}
	case "stop", "crash", "silence":
		if !l.up {
			return l.down()
		}
		if st.Do == "stop" && l.paused {
			return "it is paused since " + l.since.String()
		}
		*l = life{started: true, since: st.At, by: st.Do}
	case "pause":
		if !l.up {
			return l.down()
		}
		if l.paused {
			return "it is paused since " + l.since.String()
		}
		l.paused, l.since, l.by = true, st.At, st.Do
	case "resume":
		if !l.up || !l.paused {
			return "it is not paused"
		}
		l.paused, l.since, l.by = false, st.At, st.Do
	}
	return ""
}

func (l *life) down() string {
	if !l.started {
		return "it starts at " + l.since.String()
	}
	return "it is away since " + l.since.String() + " (" + l.by + ")"
}

// absences are the times at which nodes don't run or are paused.
type absences map[string][][2]Duration

// between two absences of a node there is time to get somewhere.
const recovery = Duration(2 * time.Second)

// absences collects them from the steps so far.
func (x *expander) absences() absences {
	away := absences{}
	for _, name := range x.index.Names() {
		if first := x.index.Starts(name); first > 0 {
			away[name] = append(away[name], [2]Duration{-recovery, first})
		}
	}
	sorted := *x
	sorted.steps = append([]step(nil), x.steps...)
	sorted.order()
	gone := map[string]Duration{}
	for _, st := range sorted.steps {
		if len(st.Nodes) != 1 {
			continue
		}
		name := st.Nodes[0]
		since, ok := gone[name]
		switch st.Do {
		case "stop", "crash", "silence", "pause":
			if !ok {
				gone[name] = st.At
			}
		case "start", "restart", "resume":
			if ok {
				away[name] = append(away[name], [2]Duration{since, st.At})
				delete(gone, name)
			}
		}
	}
	for name, since := range gone { // order does not matter: one entry a node
		away[name] = append(away[name], [2]Duration{since, x.s.Duration})
	}
	return away
}

// take reserves an absence, unless it would touch another one.
func (a absences) take(name string, from, until Duration) bool {
	if !a.free(name, from, until) {
		return false
	}
	a[name] = append(a[name], [2]Duration{from, until})
	return true
}

// free says whether a node is there all the time, and a little before and
// after.
func (a absences) free(name string, from, until Duration) bool {
	for _, other := range a[name] {
		if from <= other[1]+recovery && until+recovery >= other[0] {
			return false
		}
	}
	return true
}
