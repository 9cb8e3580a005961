// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/cluster"
)

// seen is what a look at the cluster in its own network shows.
type seen struct {
	known      bool // there are members, or it is known that there are none
	members    int  // of that network itself
	usable     int  // of these, those whose nodes can be reached
	sure       int  // of these, those that nobody doubts
	capacity   int  // of the usable ones together
	maxMessage int  // the largest message that one of them takes, in bytes; 0 = not told
	cut        bool // none of them can be reached, for the network can't be
	broken     bool // nor can it be believed that there is none
	// What is lent has come through these networks, its own first.
	networks []cluster.NetworkID
}

// look counts the members that may be lent: those of the network itself, at home, or of
// another one that are lent there. Gateways that lend the same members do not add up.
func look(v *cluster.View, t *cluster.Transit, home cluster.NetworkID, state func(*cluster.Member) string) seen {
	s, best := seen{known: v.Believed()}, 0
	for _, m := range v.Members {
		if !t.Permits(m) || len(m.Networks) == cluster.MaxNetworks {
			continue
		}
		s.members++
		switch state(m) {
		case "unreachable":
			continue
		case "live", "ejected":
			s.sure++
		}
		if s.usable == 0 || len(m.Networks) < best {
			best, s.networks = len(m.Networks), append(slices.Clone(m.Networks), home)
		}
		s.usable++
		if m.Imported {
			s.capacity = max(s.capacity, m.Capacity)
		} else {
			s.capacity += m.Capacity
		}
		s.maxMessage = max(s.maxMessage, m.MaxMessage)
	}
	return s
}

// reckon takes in whether their network can be reached. Members of another one that are
// lent there are on gateways, which may be on this side of the line.
func (s *seen) reckon(r *reach, native bool) {
	s.broken = r.broken.Load()
	s.cut = r.cut.Load() && (native || s.usable == 0)
	s.known = s.known && (s.members > 0 || !s.broken)
}

// lostPatience is how long a cluster stays lent none of whose members can be reached.
// Their nodes' links may come back; and who dies is gone from the list soon. Where the
// network itself can't be reached it stays lent, as suspect: nobody knows then who is there.
const lostPatience = 2 * time.Second

// offer is what a network is offered of another one: the core of lend. It has no clock.
type offer struct {
	lent       bool
	suspect    bool
	capacity   int
	maxMessage int
	networks   []cluster.NetworkID
	lostAt     time.Time // since when no member can be reached; zero = one can
}

// order is what an offer wants done.
type order uint8

const (
	orderNothing order = iota
	orderLend          // register, with capacity, maxMessage and networks
	orderRevise        // tell callers that these are others
	orderDoubt         // tell callers whether to rather ask others: suspect
	orderReturn        // leave the cluster
)

// step takes in what was seen.
func (s *offer) step(now time.Time, v seen) order {
	if v.usable > 0 && !(v.cut && s.lent) {
		s.lostAt = time.Time{}
		return s.serve(v)
	}
	if !s.lent {
		return orderNothing
	}
	if v.broken { // who was there may be there, and comes back
		s.lostAt = time.Time{}
		return s.doubt(true)
	}
	if s.lostAt.IsZero() {
		s.lostAt = now
	}
	if v.known && v.members == 0 || now.Sub(s.lostAt) >= lostPatience {
		*s = offer{}
		return orderReturn
	}
	return s.doubt(true)
}

// serve takes in that there are members to be asked.
func (s *offer) serve(v seen) order {
	changed := s.capacity != v.capacity || s.maxMessage != v.maxMessage || !slices.Equal(s.networks, v.networks)
	s.capacity, s.maxMessage, s.networks = v.capacity, v.maxMessage, v.networks
	switch {
	case !s.lent:
		s.lent, s.suspect = true, false
		return orderLend
	case changed:
		return orderRevise
	}
	return s.doubt(v.sure == 0)
}

func (s *offer) doubt(suspect bool) order {
	if s.suspect == suspect {
		return orderNothing
	}
	s.suspect = suspect
	return orderDoubt
}

// failed takes in that what was ordered could not be done.
func (s *offer) failed() { *s = offer{} }
